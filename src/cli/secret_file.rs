//! Files that hold a token or a password.

use crate::cli::error::CliError;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Where container platforms lay secrets, with permissions that nobody inside can change.
const MOUNTED: [&str; 2] = ["/run/secrets/", "/var/run/secrets/"];
/// Permissions by which others read or write a file, or its group writes it.
const TOO_OPEN: u32 = 0o026;
/// Longest secret, in bytes.
const LONGEST: u64 = 64 << 10;

/// The text of a file that holds a secret.
///
/// Errors: it cannot be read, others may read or change it, or it is longer than 64 KiB. What it holds is in no message.
pub(crate) fn secret_in(path: &Path) -> Result<String, CliError> {
    let failed = |it: &std::io::Error| CliError::file(path, "reading", it);
    let file = File::open(path).map_err(|it| failed(&it))?;
    let metadata = file.metadata().map_err(|it| failed(&it))?;
    let mode = metadata.permissions().mode() & 0o777;
    let is_mounted = MOUNTED.iter().any(|it| path.starts_with(it));
    if metadata.is_file() && !is_mounted && mode & TOO_OPEN != 0 {
        let shown = path.display();
        return Err(CliError::usage(
            format!("{shown}: holds a secret, and others may read or change it (mode {mode:04o})"),
            format!("chmod 600 {shown}"),
        ));
    }
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(|it| failed(&it))?;
    if text.len() as u64 > LONGEST {
        let message = format!("{}: is longer than a secret can be (64 KiB)", path.display());
        return Err(CliError::usage(message, "name the file that holds nothing but the secret"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_others_may_read_is_refused_and_shows_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "s3cret").unwrap();
        for (mode, is_taken) in
            [(0o600, true), (0o640, true), (0o400, true), (0o644, false), (0o660, false)]
        {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let answer = secret_in(&path);
            assert_eq!(answer.is_ok(), is_taken, "{mode:o}");
            if let Err(error) = answer {
                let said = format!("{error:?}");
                assert!(said.contains("chmod 600") && !said.contains("s3cret"), "{said}");
            }
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::write(&path, vec![b'x'; 100_000]).unwrap();
        assert!(format!("{:?}", secret_in(&path).unwrap_err()).contains("64 KiB"));
    }
}
