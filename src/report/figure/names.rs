//! What pictures are called, in every report: their kind, and the device that they are about.

use crate::report::figure::Figure;

impl Figure {
    /// The kind of the picture as its names begin, in kebab case: `KIND` where it is about the whole
    /// result, `KIND-DEVICE` where it is about one device, with the device's name as in every report.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Timeline(_) => "timeline",
            Self::Strip { .. } => "strip",
            Self::DutyBars(_) => "duty",
            Self::DemandCv(_) => "demand-cv",
            Self::BurstHistogram(_) => "burst-lengths",
            Self::MemoryBars { .. } => "memory",
            Self::MemoryStack(_) => "memory-stack",
            Self::Matrix(_) => "influences",
            Self::Suspects(_) => "suspects",
            Self::Slowdowns(_) => "ways",
            Self::Changes(_) => "changes",
            Self::Tiles(_) => "fleet",
            Self::GpuBars(_) => "mix",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::outline::Outline;
    use crate::report::Report;
    use crate::report::diagnosis;
    use crate::report::diagnosis::DiagnosisInput;
    use crate::report::plot::figures;
    use crate::report::recommend;
    use crate::report::specimen::{NO_FILES, case, crowd, recommendation, specimen};
    use std::collections::BTreeSet;

    /// The names of its pictures; each is the kind, or begins so.
    fn names(report: &Report) -> BTreeSet<String> {
        let named = figures(report).into_iter().map(|it| {
            let rest = it.id.strip_prefix(it.figure.kind());
            assert!(rest.is_some_and(|it| it.is_empty() || it.starts_with('-')), "{}", it.id);
            it.id.to_owned()
        });
        named.collect()
    }

    #[test]
    fn a_picture_has_one_name_whoever_shows_it() {
        for world in [specimen(), crowd(3, 4)] {
            let all = names(&world.report());
            let verdicts = world.verdicts();
            let recommended = names(&recommend::report(&recommendation(&verdicts, &NO_FILES)));
            assert!(!recommended.is_empty() && recommended.is_subset(&all), "{recommended:?}");
        }
        let suspects = names(&diagnosis::report(&DiagnosisInput {
            diagnosis: &case::diagnosis(),
            outline: &Outline::default(),
            tool_version: "0.1.0",
            command: "",
        }));
        assert_eq!(suspects.into_iter().collect::<Vec<_>>(), ["suspects"]);
    }
}
