//! One colour-blind-safe palette, for light and for dark ground.
//!
//! Source of the hues: M. Okabe and K. Ito, Color Universal Design (2008).

use crate::report::figure::SeriesColour;

/// On which ground a picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Dark ink on a light ground.
    #[default]
    Light,
    /// Light ink on a dark ground.
    Dark,
}

/// What a colour is for; its hue follows from the theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Ground,
    Ink,
    Muted,
    Grid,
    Band,
    Device,
    DeviceSecond,
    Resident1,
    Resident2,
    Resident3,
    Resident4,
    Resident5,
    Resident6,
    Other,
    Used,
    Half,
    Full,
    Limit,
}

/// Every role: its name as a style variable, its hue on light and on dark ground.
///
/// No hue stands twice in a column, so that a drawing can be recoloured by its hues.
#[rustfmt::skip]
pub(crate) const ROLES: &[(Role, &str, u32, u32)] = &[
    (Role::Ground,       "ground",        0xFFFFFF, 0x1A1E23),
    (Role::Ink,          "ink",           0x1B2127, 0xE8EBEE),
    (Role::Muted,        "muted",         0x57606A, 0xA6AFB8),
    (Role::Grid,         "grid",          0xE1E4E8, 0x333A42),
    (Role::Band,         "band",          0xEDF1F5, 0x242B32),
    (Role::Device,       "device",        0x3A4A5A, 0xC3CFDB),
    (Role::DeviceSecond, "device-second", 0xD45D00, 0xFF9248),
    (Role::Resident1,    "resident-1",    0x0072B2, 0x5CB3EA),
    (Role::Resident2,    "resident-2",    0xE69F00, 0xF3B540),
    (Role::Resident3,    "resident-3",    0x009E73, 0x3ECB9C),
    (Role::Resident4,    "resident-4",    0xCC79A7, 0xE59DC5),
    (Role::Resident5,    "resident-5",    0x56B4E9, 0xA4E0F8),
    (Role::Resident6,    "resident-6",    0x8A6A2F, 0xCDAA70),
    (Role::Other,        "other",         0x8B949E, 0x7D8791),
    (Role::Used,         "used",          0xBCD9EC, 0x2A4B63),
    (Role::Half,         "half",          0x4A97C9, 0x4390C4),
    (Role::Full,         "full",          0xD55E00, 0xF2813A),
    (Role::Limit,        "limit",         0xB0440A, 0xF08C50),
];

impl Role {
    /// Red, green and blue on this ground.
    pub(crate) fn rgb(self, theme: Theme) -> (u8, u8, u8) {
        let hue = ROLES.iter().find(|it| it.0 == self).map_or(0, |it| match theme {
            Theme::Light => it.2,
            Theme::Dark => it.3,
        });
        ((hue >> 16) as u8, (hue >> 8) as u8, hue as u8)
    }

    /// Its name as a style variable.
    pub(crate) fn name(self) -> &'static str {
        ROLES.iter().find(|it| it.0 == self).map_or("ink", |it| it.1)
    }

    /// The colour of a series; residents past the sixth share one.
    pub(crate) fn of_series(colour: SeriesColour) -> Role {
        match colour {
            SeriesColour::Device => Role::Device,
            SeriesColour::DeviceSecond => Role::DeviceSecond,
            SeriesColour::Resident(0) => Role::Resident1,
            SeriesColour::Resident(1) => Role::Resident2,
            SeriesColour::Resident(2) => Role::Resident3,
            SeriesColour::Resident(3) => Role::Resident4,
            SeriesColour::Resident(4) => Role::Resident5,
            SeriesColour::Resident(5) => Role::Resident6,
            SeriesColour::Resident(_) => Role::Other,
        }
    }
}

/// Style rules that give every role its hue, for light and for dark ground.
pub(crate) fn style_variables() -> String {
    let column = |pick: fn(&(Role, &str, u32, u32)) -> u32| -> String {
        ROLES.iter().map(|it| format!("--plot-{}:#{:06X};", it.1, pick(it))).collect()
    };
    format!(
        ":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n",
        column(|it| it.2),
        column(|it| it.3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_hue_stands_twice_so_a_drawing_can_be_recoloured_by_its_hues() {
        for column in [|it: &(Role, &str, u32, u32)| it.2, |it: &(Role, &str, u32, u32)| it.3] {
            let hues: BTreeSet<u32> = ROLES.iter().map(column).collect();
            assert_eq!(hues.len(), ROLES.len());
        }
    }

    #[test]
    fn words_in_pictures_stand_out_from_the_ground_as_wcag_asks() {
        let luminance = |(r, g, b): (u8, u8, u8)| {
            let linear = |it: u8| {
                let it = f64::from(it) / 255.0;
                if it <= 0.040_45 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
        };
        for theme in [Theme::Light, Theme::Dark] {
            let ground = luminance(Role::Ground.rgb(theme));
            for role in [Role::Ink, Role::Muted, Role::Limit] {
                let word = luminance(role.rgb(theme));
                let contrast = (word.max(ground) + 0.05) / (word.min(ground) + 0.05);
                assert!(contrast >= 4.5, "{role:?} {theme:?} {contrast}");
            }
        }
    }
}
