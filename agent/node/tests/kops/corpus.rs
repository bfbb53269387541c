//! Every document of the corpus is read whole, and holds together.

use crate::support::boots;
use quake_model::fault::Code;
use quake_node::config::check;
use quake_node::config::current::verify_config_hash;
use std::fs;

#[test]
fn every_configuration_has_the_hash_its_user_data_names_and_no_other_bytes_have_it() {
    let mut seen = 0;
    for boot in boots() {
        let config = boot.boot_config();
        let mut bytes = boot.nodeup_config_bytes(&config);
        let wanted = config
            .config_hash
            .as_deref()
            .expect("every boot has a hash");
        let verified = verify_config_hash(&boot.name, &bytes, wanted);
        assert_eq!(verified, Ok(()), "{}", boot.name);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let fault = verify_config_hash(&boot.name, &bytes, wanted).expect_err("a byte differs");
        assert_eq!(fault.code, Code::ConfigHashMismatch, "{}", boot.name);
        seen += 1;
    }
    assert!(seen == 0 || seen >= 69, "{seen} boots");
    println!("{seen} hashes verify");
}

#[test]
fn every_configuration_is_read_without_a_finding_on_either_processor() {
    for boot in boots() {
        let bytes = boot.nodeup_config_bytes(&boot.boot_config());
        let [intel, arm] =
            ["amd64", "arm64"].map(|processor| boot.nodeup_config(&bytes, processor));
        assert_eq!(intel.assets.len(), arm.assets.len(), "{}", boot.name);
        assert!(!intel.assets.is_empty(), "{}", boot.name);
        assert_eq!(check(&boot.name, &bytes), [], "{}", boot.name);
        let kube_env = fs::read(boot.folder.join("kube_env.yaml")).expect("the file is there");
        assert_eq!(check(&boot.name, &kube_env), [], "{}", boot.name);
    }
}

#[test]
fn every_stored_cluster_is_checked_without_a_finding() {
    let mut seen = 0;
    for boot in boots() {
        let cluster = boot.boot_config().cluster;
        for bucket in crate::support::folders(&boot.store) {
            let path = bucket.join(&cluster).join("cluster-completed.spec");
            if let Ok(bytes) = fs::read(&path) {
                assert_eq!(check(&boot.name, &bytes), [], "{}", path.display());
                seen += 1;
            }
        }
    }
    println!("{seen} stored clusters have no finding");
}

#[test]
fn every_keypair_id_names_a_generation_of_its_keyset() {
    let mut resolved = 0;
    for boot in boots() {
        let boot_config = boot.boot_config();
        let bytes = boot.nodeup_config_bytes(&boot_config);
        let config = boot.nodeup_config(&bytes, "amd64");
        for (name, bundle) in boot.objects(&boot_config, &config).keysets {
            let id = &config.keypair_ids[&name];
            let keypair = bundle.generation(id);
            let keypair = keypair.unwrap_or_else(|fault| panic!("{}: {fault}", boot.name));
            assert!(keypair.key.is_some(), "{}: {name} has a key", boot.name);
            resolved += 1;
        }
    }
    println!("{resolved} keypair ids resolve");
    assert!(resolved == 0 || resolved >= 250, "{resolved}");
}
