//! Many files at once.

use super::files::{names, scratch};
use quake_model::ports::Files;
use quake_model::step::WriteFile;
use std::fs;

#[tokio::test]
async fn many_files_are_written_together_and_leave_no_temporary_file() {
    let (scratch, files) = scratch();
    fs::create_dir_all(scratch.path().join("etc/7")).expect("directories");
    // What an agent that was killed left.
    let left = scratch.path().join("etc/.kubelet.quake-placing");
    fs::write(left, "half").expect("a file");
    let wanted: Vec<WriteFile> = (0..100)
        .map(|at| WriteFile::plain(&format!("/etc/{at}"), 0o640, at.to_string()))
        .collect();
    let written = files.write_files(&wanted).await;
    assert_eq!(written.len(), 8, "a directory is in the way of the last");
    assert!(written[7].is_err());
    fs::remove_dir(scratch.path().join("etc/7")).expect("ours");
    let written = files.write_files(&wanted).await;
    assert_eq!(written, vec![Ok(()); 100]);
    let names = names(&scratch.path().join("etc"));
    assert_eq!(names.len(), 100, "{names:?}");
    for at in 0..100 {
        let kept = fs::read_to_string(scratch.path().join(format!("etc/{at}")));
        assert_eq!(kept.expect("a file"), at.to_string());
    }
}
