//! How kubelet comes to its API server: by its kubeconfig, and by the files that this names.

use quake_diagnose::checks::Kubeconfig;
use quake_model::ports::Files;
use quake_model::signal::ApiAccess;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The longest kubeconfig, or file that one names, that is read.
const FILE_BYTES: u64 = 1 << 20;

/// What the kubeconfig at `path` gives; `None` without one of which that can be read.
pub(crate) async fn access_by<H: Files>(host: &H, path: &str) -> Option<ApiAccess> {
    let text = String::from_utf8(file(host, path).await?).ok()?;
    let kubeconfig = Kubeconfig::read(&text)?;
    let mut files = BTreeMap::new();
    for path in named_files(&kubeconfig) {
        if let Some(contents) = file(host, &path).await {
            files.insert(path, contents);
        }
    }
    kubeconfig.api_access(|path| files.get(path).cloned())
}

/// The files of which it has to be told the contents.
fn named_files(kubeconfig: &Kubeconfig) -> Vec<String> {
    let named = RefCell::new(Vec::new());
    let _ = kubeconfig.api_access(|path| {
        named.borrow_mut().push(path.to_owned());
        Some(Vec::new())
    });
    named.into_inner()
}

async fn file<H: Files>(host: &H, path: &str) -> Option<Vec<u8>> {
    let looked = host.look_file(path, FILE_BYTES).await.ok()??;
    looked.contents
}
