//! Holds certificates: each is kept while it fits its order, and issued where it does not.

use crate::boot::facts::BootFacts;
use crate::context::Context;
use crate::ensure::controller::{self, NewKeys};
use crate::ensure::files::look;
use crate::fault_mapping::{Operation, to_fault};
use crate::retry::Wait;
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::item::{CertificateOrder, Issuer};
use quake_model::outcome::Outcome;
use quake_model::ports::{Bootstrap, Clock, Files, Keys, MadeKey, Meter, PortError};
use quake_model::step::Step;
use quake_node::config::current::Origin;
use quake_node::pki::{
    self, Ca, IssuedCertificate, Misfit, is_still_good, is_trusted, misfit, unsigned,
};
use quake_node::plan_inputs::Keypair;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a certificate is tried to be renewed that can be used yet. A guess: a few rounds, and a boot is not held up.
const RENEWAL: Duration = Duration::from_secs(30);

/// Holds a certificate that this node signs itself.
pub(crate) async fn issued<H: Keys + Files + Clock>(
    context: &Context<'_, H>,
    step: &Step,
    order: &CertificateOrder,
) -> Result<Outcome, Fault> {
    let signer = signer(context, order)?;
    let ca = Ca::read(&order.name, &signer.certificate)?;
    if fits(context, order, Some(&ca)).await?.is_none() {
        return Ok(Outcome::Unchanged);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    let made = new_key(context).await?;
    let waiting = unsigned(order, &ca, &made.public, context.host.now())?;
    let Some(key) = &signer.key else {
        let summary = format!("the CA of {} has no key in the state store", order.name);
        return Err(Fault::new(Code::CredentialsMissing, summary).seen("order", &order.name));
    };
    let signature = context.host.sign(key, waiting.kind, &waiting.message).await;
    let signature = signature.map_err(|error| key_fault(error, &order.name))?;
    let held = IssuedCertificate {
        certificate: waiting.signed(&signature)?,
        ca: ca.pem.clone(),
        key: made.key,
    };
    hold(context, &order.name, held).await?;
    settled(context, order, Some(&ca)).await
}

/// Holds the certificates that kops-controller signs: those that did not come with the configuration are asked for.
pub(crate) async fn requested<H: Bootstrap + Keys + Files + Clock + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    orders: &[CertificateOrder],
) -> Result<Outcome, Fault> {
    let mut unheld = Vec::new();
    for order in orders {
        if let Some(misfit) = fits_controller(context, order).await? {
            unheld.push((order, misfit));
        }
    }
    if unheld.is_empty() {
        return Ok(Outcome::Unchanged);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    let (mut wanted, mut came) = (Vec::new(), Vec::new());
    for (order, misfit) in unheld {
        let pending = context.know_mut(|knowledge| knowledge.pending.remove(&order.name));
        match pending {
            Some(pending) => came.push((order, pending)),
            None => wanted.push((order, misfit)),
        }
    }
    take(context, came).await?;
    match wanted.is_empty() {
        true => Ok(Outcome::Changed),
        false => request_missing(context, step, &wanted).await,
    }
}

/// Asks for certificates. Where all that are there can be used yet, they are not waited for: they will be asked for again.
async fn request_missing<H: Bootstrap + Keys + Files + Clock + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    wanted: &[(&CertificateOrder, Misfit)],
) -> Result<Outcome, Fault> {
    let mut can_wait = true;
    for (order, misfit) in wanted {
        let held = held(context, &order.name).await?;
        let is_good = held.is_some_and(|held| is_still_good(&held, context.host.now()));
        can_wait &= *misfit == Misfit::Old && is_good;
    }
    let orders: Vec<&CertificateOrder> = wanted.iter().map(|(order, _)| *order).collect();
    let wait = match can_wait {
        true => context.wait(step.phase, &step.id, RENEWAL).patient(0),
        false => controller::patience(context, step.phase),
    };
    match renewed(context, &wait, &orders).await {
        Ok(()) => Ok(Outcome::Changed),
        Err(fault) if can_wait => {
            context.emitter.emit(Event::Warning { fault });
            Ok(Outcome::Unchanged)
        }
        Err(fault) => Err(fault),
    }
}

async fn renewed<H: Bootstrap + Keys + Files + Clock + Meter>(
    context: &Context<'_, H>,
    wait: &Wait,
    wanted: &[&CertificateOrder],
) -> Result<(), Fault> {
    let node = context.know(BootFacts::kops)?;
    let Origin::Server(server) = &node.boot.origin else {
        let summary = "certificates are to be asked for, and no kops-controller is named";
        return Err(Fault::new(Code::BootInternal, summary));
    };
    let (mut keys, mut ids) = (NewKeys::new(), BTreeMap::new());
    for order in wanted {
        keys.insert(order.name.clone(), new_key(context).await?);
        if let Issuer::Controller { keyset, keypair_id } = &order.issuer {
            ids.insert(keyset.clone(), keypair_id.clone());
        }
    }
    let request = controller::request(&keys, ids);
    let response = controller::ask(context, wait, server, &request).await?;
    let Some(response) = response else {
        let names: Vec<&str> = wanted.iter().map(|order| order.name.as_str()).collect();
        let summary = format!("kops-controller does not sign all of {}", names.join(", "));
        return Err(Fault::new(Code::ConfigControllerRejected, summary));
    };
    let mut came = Vec::new();
    for order in wanted {
        let trusted = trusted(context, order)?;
        let mut judged = controller::came(context, &keys, &response, &trusted).await?;
        let held = judged.remove(&order.name);
        let held = held.ok_or_else(|| pki::unfit(&order.name, Misfit::Unreadable))?;
        came.push((*order, held));
    }
    take(context, came).await
}

/// Holds what kops-controller signed, if all of it is as it was ordered; else nothing of it.
async fn take<H: Files + Clock>(
    context: &Context<'_, H>,
    came: Vec<(&CertificateOrder, IssuedCertificate)>,
) -> Result<(), Fault> {
    for (order, held) in &came {
        let public = held.public_key().unwrap_or_default();
        if let Some(misfit) = misfit(order, held, None, &public, context.host.now()) {
            return Err(pki::unfit(&order.name, misfit));
        }
    }
    for (order, held) in came {
        hold(context, &order.name, held).await?;
    }
    Ok(())
}

/// Why what is held does not fit an order of kops-controller; `None` where it does.
async fn fits_controller<H: Keys + Files + Clock>(
    context: &Context<'_, H>,
    order: &CertificateOrder,
) -> Result<Option<Misfit>, Fault> {
    let found = fits(context, order, None).await?;
    let Some(held) = held(context, &order.name).await? else {
        return Ok(found);
    };
    let trusted = trusted(context, order)?;
    match found {
        None if !is_trusted(&held.ca, &trusted) => Ok(Some(Misfit::AnotherCa)),
        found => Ok(found),
    }
}

/// The CAs that may sign an order of kops-controller, PEM: those it is believed by, or those of the order's keyset.
fn trusted<H>(context: &Context<'_, H>, order: &CertificateOrder) -> Result<String, Fault> {
    let node = context.know(BootFacts::kops)?;
    let (Issuer::Controller { keyset, .. } | Issuer::Ca { keyset, .. }) = &order.issuer;
    if let Some(own) = node.config.ca_bundle.get(keyset) {
        return Ok(own.clone());
    }
    Ok(match &node.boot.origin {
        Origin::Server(server) => server.ca_bundle.clone(),
        Origin::Store(_) | Origin::Nowhere => String::new(),
    })
}

/// What is held for the order of this name; `None` where nothing is, or it cannot be read.
pub(crate) async fn held<H: Files>(
    context: &Context<'_, H>,
    name: &str,
) -> Result<Option<IssuedCertificate>, Fault> {
    if let Some(held) = context.know(|knowledge| knowledge.issued.get(name).cloned()) {
        return Ok(Some(held));
    }
    let found = look(context, &pki::path(name)).await?;
    let bytes = found.and_then(|found| found.contents).unwrap_or_default();
    let held = IssuedCertificate::read(&String::from_utf8_lossy(&bytes));
    if let Some(held) = &held {
        let held = held.clone();
        context.learn(|knowledge| drop(knowledge.issued.insert(name.to_owned(), held)));
    }
    Ok(held)
}

/// Holds what was issued for the order of this name.
pub(crate) async fn hold<H: Files>(
    context: &Context<'_, H>,
    name: &str,
    held: IssuedCertificate,
) -> Result<(), Fault> {
    let file = held.file(name);
    let written = context.host.write_file(&file).await;
    written.map_err(|error| to_fault(Operation::UseFile, error).seen("path", &file.path))?;
    context.learn(|knowledge| drop(knowledge.issued.insert(name.to_owned(), held)));
    Ok(())
}

pub(crate) async fn new_key<H: Keys>(context: &Context<'_, H>) -> Result<MadeKey, Fault> {
    let made = context.host.make_key().await;
    made.map_err(|error| key_fault(error, "a new key"))
}

/// Why what is held does not fit its order; `None` where it does.
async fn fits<H: Keys + Files + Clock>(
    context: &Context<'_, H>,
    order: &CertificateOrder,
    ca: Option<&Ca>,
) -> Result<Option<Misfit>, Fault> {
    let Some(held) = held(context, &order.name).await? else {
        return Ok(Some(Misfit::Unreadable));
    };
    Ok(match context.host.public_key(&held.key).await {
        Ok(public) => misfit(order, &held, ca, &public, context.host.now()),
        Err(_) => Some(Misfit::Unreadable),
    })
}

/// Looks again after an order was brought about.
async fn settled<H: Keys + Files + Clock>(
    context: &Context<'_, H>,
    order: &CertificateOrder,
    ca: Option<&Ca>,
) -> Result<Outcome, Fault> {
    context.learn(|knowledge| drop(knowledge.issued.remove(&order.name)));
    match fits(context, order, ca).await? {
        None => Ok(Outcome::Changed),
        Some(misfit) => {
            let summary = format!("the certificate {} is not as it was ordered", order.name);
            let fault = Fault::new(Code::CredentialsMalformed, summary);
            Err(fault
                .seen("order", &order.name)
                .seen("misfit", format!("{misfit:?}")))
        }
    }
}

/// The CA of an order, with its key.
fn signer<H>(context: &Context<'_, H>, order: &CertificateOrder) -> Result<Keypair, Fault> {
    let node = context.know(BootFacts::kops)?;
    let (Issuer::Ca { keyset, keypair_id } | Issuer::Controller { keyset, keypair_id }) =
        &order.issuer;
    let bundle = node.objects.keysets.get(keyset).ok_or_else(|| {
        let summary = format!("the keyset {keyset} is not in the state store");
        Fault::new(Code::CredentialsMissing, summary).seen("keyset", keyset)
    })?;
    bundle.generation(keypair_id).cloned()
}

fn key_fault(error: PortError, whose: &str) -> Fault {
    to_fault(Operation::UseKey, error).seen("key of", whose)
}
