//! What an exported supervisor answers to other nodes.

use krarup::cluster::etf::{Atom, Term};
use krarup::cluster::{
    Cluster, ClusterAddress, ClusterCalls, Cookie, ExportSupervisor, HasCluster, TermMessage,
};
use krarup::prelude::*;
use std::net::SocketAddr;

struct Idle;

impl Actor for Idle {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

fn member(name: &str, knows: Option<(String, SocketAddr)>) -> (Node, ClusterAddress) {
    let node = Node::start(name).unwrap();
    let cluster = node.spawn_system(move || {
        let cluster = Cluster::new(Cookie::new("secret").unwrap());
        match knows {
            Some((name, address)) => cluster.peer(name, address),
            None => cluster,
        }
    });
    let cluster = cluster.wait().unwrap();
    (node, cluster)
}

/// `{Id, Type, Modules}` of a child, and whether its pid is one.
fn child(term: &Term) -> (Term, bool, Term, Term) {
    let Term::Tuple(parts) = term else { panic!("{term}") };
    let [id, pid, kind, modules] = &parts[..] else { panic!("{term}") };
    (id.clone(), matches!(pid, Term::Pid(_)), kind.clone(), modules.clone())
}

#[test]
fn zcall13_an_exported_supervisor_answers_which_children_and_count_children() {
    let (here, cluster) = member("tree_a@127.0.0.1", None);
    let supervisor = || {
        let inner = || Supervisor::one_for_one().child(ChildSpec::worker("leaf", || Idle));
        Supervisor::one_for_one()
            .child(ChildSpec::worker("one", || Idle))
            .child(ChildSpec::worker(format!("at run time {}", 2), || Idle))
            .child(ChildSpec::supervisor("inner", inner))
    };
    here.spawn(supervisor).name("tree").wait().unwrap();
    cluster.export_supervisor_of("tree", &["one", "inner"]).unwrap();
    let at = cluster.cluster().unwrap().listens_at().unwrap();
    let (_there, asks) = member("tree_b@127.0.0.1", Some(("tree_a@127.0.0.1".to_owned(), at)));
    let tree = asks.remote::<TermMessage>("tree", "tree_a@127.0.0.1").unwrap();
    let ask = |what: &'static str| {
        tree.call(move |reply| TermMessage::Call(Term::atom(what), reply)).wait()
    };
    let Term::List(children) = ask("which_children").unwrap() else { panic!("no list") };
    let found: Vec<_> = children.iter().map(child).collect();
    let modules = Term::list([Term::atom("krarup")]);
    let expected = |id, kind| (id, true, Term::Atom(Atom::fixed(kind)), modules.clone());
    // The ids that the program has fixed are atoms; others never are (rule Zterm12).
    let all = [
        expected(Term::atom("one"), "worker"),
        expected(Term::binary("at run time 2"), "worker"),
        expected(Term::atom("inner"), "supervisor"),
    ];
    assert_eq!(found.len(), all.len());
    assert!(all.iter().all(|one| found.contains(one)), "{found:?}");
    let counts = ask("count_children").unwrap().to_string();
    for count in ["{specs,3}", "{active,3}", "{supervisors,1}", "{workers,2}"] {
        assert!(counts.contains(count), "{counts}");
    }
    let error = ask("delete_child").unwrap_err();
    assert!(matches!(error, CallError::NoReply { .. }), "{error}");
    // Without a list every id is a binary.
    cluster.export_supervisor("tree").unwrap();
    let Term::List(children) = ask("which_children").unwrap() else { panic!("no list") };
    let is_text = |term: &Term| matches!(child(term).0, Term::Binary(_));
    assert!(children.iter().all(is_text), "{children:?}");
}
