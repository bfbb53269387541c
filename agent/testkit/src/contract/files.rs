//! What a host keeps of the node's files.

use super::{Broken, file, hold, sound};
use quake_model::facts::{EntryKind, Owner};
use quake_model::ports::{Condition, DirectoryWatch, Files};
use std::time::Duration;
use tokio::time::timeout;

/// Files: what is written is there, whole; what is not there is nothing; nothing of another kind is
/// replaced.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn files<H: Files>(host: &H) -> Result<(), Broken> {
    absent_files(host).await?;
    written_files(host).await?;
    stamps_of_files(host).await?;
    links(host).await?;
    removed_files(host).await?;
    kinds_of_files(host).await?;
    files_together(host).await?;
    watched_directories(host).await
}

async fn links<H: Files>(host: &H) -> Result<(), Broken> {
    let read = async |path: &str| sound("a link is read", host.read_link(path).await);
    hold("an absent link", read("/contract/b/link").await?, None)?;
    for target in ["/contract/a", "elsewhere"] {
        let made = host.make_link("/contract/b/link", target).await;
        sound("a link is made, in the place of another", made)?;
        let found = read("/contract/b/link").await?;
        hold("where it points", found.as_deref(), Some(target))?;
    }
    hold("a file is no link", read("/contract/a").await?, None)?;
    let refused = host.make_link("/contract/a", "elsewhere").await;
    let refused = refused.map_err(|error| error.condition);
    hold("a file is not replaced", refused, Err(Condition::Occupied))
}

async fn removed_files<H: Files>(host: &H) -> Result<(), Broken> {
    let path = "/contract/b/gone";
    let remove = async |path: &str, seen: &str| {
        let removed = host.remove_file(path, seen.as_bytes()).await;
        removed.map_err(|error| error.condition)
    };
    hold("an absent file", remove(path, "one").await, Ok(()))?;
    let absent = "/contract/none/gone";
    hold("an absent directory", remove(absent, "one").await, Ok(()))?;
    let written = host.write_file(&file(path, "one", 0o600)).await;
    sound("a file is written", written)?;
    for other in ["two", "", "on", "one and more"] {
        let refused = remove(path, other).await;
        hold("another file", refused, Err(Condition::Conflict))?;
    }
    for other in ["/contract/b", "/contract/b/link"] {
        let refused = remove(other, "elsewhere").await;
        hold("what is no file", refused, Err(Condition::Occupied))?;
    }
    hold("the file that was seen", remove(path, "one").await, Ok(()))?;
    let looked = sound("a look", host.look_file(path, 9).await)?;
    hold("a removed file is nothing", looked, None)
}

async fn absent_files<H: Files>(host: &H) -> Result<(), Broken> {
    let looked = sound(
        "an absent path is no error",
        host.look_file("/contract/a", 99).await,
    )?;
    hold("an absent path is nothing", looked, None)?;
    let listed = sound(
        "an absent directory is no error",
        host.list_directory("/contract").await,
    )?;
    hold("an absent directory is empty", listed, Vec::new())?;
    Ok(())
}

async fn written_files<H: Files>(host: &H) -> Result<(), Broken> {
    sound(
        "a file is written with its parents",
        host.write_file(&file("/contract/b/x", "one", 0o640)).await,
    )?;
    sound(
        "a file is written",
        host.write_file(&file("/contract/a", "first", 0o644)).await,
    )?;
    sound(
        "a file is replaced",
        host.write_file(&file("/contract/a", "second", 0o600)).await,
    )?;
    let looked = sound("a file is seen", host.look_file("/contract/a", 99).await)?;
    let found = looked.ok_or("a written file is there")?;
    hold("its kind", found.kind, EntryKind::File)?;
    hold("its mode", found.mode, 0o600)?;
    hold("its bytes", found.contents, Some(b"second".to_vec()))?;
    let looked = sound(
        "a large file is seen",
        host.look_file("/contract/a", 3).await,
    )?;
    hold(
        "contents past the limit are left out",
        looked.and_then(|found| found.contents),
        None,
    )?;
    Ok(())
}

/// Many at once; behind one that cannot be written nothing is touched.
async fn files_together<H: Files>(host: &H) -> Result<(), Broken> {
    let mut wanted: Vec<_> = (0..70)
        .map(|at| file(&format!("/contract/many/{}/{at}", at % 3), "one", 0o640))
        .collect();
    wanted.push(file("/contract/many/0/0", "last", 0o600));
    let in_the_way = file("/contract/b", "x", 0o644);
    wanted.insert(50, in_the_way.clone());
    let read = async |path: &str| {
        let looked = sound("a file is seen", host.look_file(path, 9).await)?;
        Ok::<_, Broken>(looked.and_then(|found| found.contents))
    };
    let written = host.write_files(&wanted).await;
    let failed = written.iter().position(Result::is_err);
    hold("the first that fails is the last", failed, Some(50))?;
    hold("an end for each up to it", written.len(), 51)?;
    let paths = ["1/49", "2/50", "0/69"].map(|name| format!("/contract/many/{name}"));
    let looked = host.look_files(&paths, 9).await.into_iter();
    let looked: Result<Vec<_>, _> = looked.collect();
    let found = sound("files are seen together", looked)?.into_iter();
    let found: Vec<_> = found.map(|found| found?.contents).collect();
    let wanted_now = vec![Some(b"one".to_vec()), None, None];
    hold("one before it, and two behind it", found, wanted_now)?;
    wanted.retain(|file| *file != in_the_way);
    let written = host.write_files(&wanted).await;
    hold("all are written", written, vec![Ok(()); 71])?;
    let path = "/contract/many/0/0";
    hold("the last of two", read(path).await?, Some(b"last".to_vec()))?;
    let path = "/contract/many/0/69";
    hold("the others", read(path).await?, Some(b"one".to_vec()))?;
    let listed = host.list_directory("/contract/many/0").await;
    let listed = sound("a directory is listed", listed)?;
    hold("nothing is left beside them", listed.len(), 24)?;
    hold("of none", host.write_files(&[]).await, Vec::new())
}

async fn stamps_of_files<H: Files>(host: &H) -> Result<(), Broken> {
    let paths = ["/contract/a", "/contract/none", "/contract/b"].map(str::to_owned);
    let stamped = async || sound("paths are stamped", host.stamp_files(&paths).await);
    let first = stamped().await?;
    hold("a stamp a path", first.len(), 3)?;
    hold("an absent path has no stamp", first[1], None)?;
    hold("a directory has one", first[2].is_some(), true)?;
    hold("what nobody touched", stamped().await?, first.clone())?;
    sound(
        "permissions are set",
        host.set_permissions(&file("/contract/a", "second", 0o640))
            .await,
    )?;
    let second = stamped().await?;
    hold(
        "another mode is another stamp",
        second[0] == first[0],
        false,
    )?;
    sound(
        "a file is replaced by one as long",
        host.write_file(&file("/contract/a", "minute", 0o640)).await,
    )?;
    let third = stamped().await?;
    hold(
        "other bytes are another stamp",
        third[0] == second[0],
        false,
    )
}

async fn kinds_of_files<H: Files>(host: &H) -> Result<(), Broken> {
    sound(
        "permissions are set",
        host.set_permissions(&file("/contract/a", "second", 0o444))
            .await,
    )?;
    let looked = sound("a file is seen", host.look_file("/contract/a", 99).await)?;
    hold("its new mode", looked.map(|found| found.mode), Some(0o444))?;
    let listed = sound(
        "a directory is listed",
        host.list_directory("/contract").await,
    )?;
    hold(
        "names are sorted",
        listed,
        vec!["a".to_owned(), "b".to_owned()],
    )?;

    let refused = host.write_file(&file("/contract/b", "x", 0o644)).await;
    hold(
        "a directory is not replaced",
        refused.map_err(|error| error.condition),
        Err(Condition::Occupied),
    )?;
    sound(
        "a directory is made",
        host.make_directory("/contract/c/d", 0o750, Owner::default())
            .await,
    )?;
    let looked = sound(
        "a directory is seen",
        host.look_file("/contract/c/d", 0).await,
    )?;
    hold(
        "its kind and mode",
        looked.map(|found| (found.kind, found.mode)),
        Some((EntryKind::Directory, 0o750)),
    )
}

/// How long a change may take to be reported, and how long nothing is waited for.
const CHANGED_WITHIN: Duration = Duration::from_secs(5);
const NOTHING_WITHIN: Duration = Duration::from_millis(200);

/// A watch that stands before the directory does; each change is reported, also one that nobody waited for.
async fn watched_directories<H: Files>(host: &H) -> Result<(), Broken> {
    let directory = "/contract/watched/below";
    let path = format!("{directory}/one");
    let write = async |path: &str, text: &str| {
        let written = host.write_file(&file(path, text, 0o644)).await;
        sound("a file is written", written)
    };
    let begun = host.watch_directory(directory).await;
    let mut watch = sound("an absent directory is watched", begun)?;
    write("/contract/elsewhere", "x").await?;
    let nothing = timeout(NOTHING_WITHIN, watch.changed()).await;
    hold("a file elsewhere", nothing.is_err(), true)?;
    for text in ["first", "second"] {
        write(&path, text).await?;
        await_change("a file is written", &mut watch).await?;
    }
    // The writes above may be reported once more each, but not without end.
    while timeout(NOTHING_WITHIN, watch.changed()).await.is_ok() {}
    write(&format!("{directory}/two"), "x").await?;
    await_change("a file is created", &mut watch).await?;
    while timeout(NOTHING_WITHIN, watch.changed()).await.is_ok() {}
    let removed = host.remove_file(&path, b"second").await;
    sound("a file is removed", removed)?;
    await_change("a file is removed", &mut watch).await?;
    let begun = host.watch_directory(directory).await;
    let mut watch = sound("a directory is watched", begun)?;
    let nothing = timeout(NOTHING_WITHIN, watch.changed()).await;
    hold("what was there before", nothing.is_err(), true)
}

async fn await_change(what: &str, watch: &mut impl DirectoryWatch) -> Result<(), Broken> {
    let changed = timeout(CHANGED_WITHIN, watch.changed()).await;
    let changed = changed.map_err(|_| format!("{what}: no change is reported"))?;
    sound(what, changed)
}
