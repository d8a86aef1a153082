//! A TOML document whose values keep their places, and the merging of such documents.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::Value;
use toml::de::{DeTable, DeValue};

use super::limits::DEPTH_MAX;
use super::source::At;

/// A table's entries.
pub(super) type Table = BTreeMap<String, Entry>;

/// An entry: the place of its key, and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key_at: At,
    pub(super) node: Node,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) tree: Tree,
}

/// A value. Leaves are neither arrays nor tables.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Leaf(Value),
    Array(Vec<Node>),
    Table(Table),
}

/// An error in a document, with its place.
pub(super) type Wrong = (At, String);

/// The kinds of load. One that is merged into a scenario replaces another. The lists are the further keys that each
/// allows.
const LOADS: [(&str, &[&str]); 5] = [
    ("outstanding", &["think_ms", "think"]),
    ("rate", &["poisson", "outstanding_max"]),
    ("ramp", &["poisson", "outstanding_max"]),
    ("steps", &["poisson", "outstanding_max"]),
    ("knee", &["outstanding_max"]),
];

impl Node {
    /// Creates a value that a program generated.
    pub(super) fn made(value: Value, at: At) -> Self {
        let tree = match value {
            Value::Array(values) => Tree::Array(
                values
                    .into_iter()
                    .map(|value| Self::made(value, at))
                    .collect(),
            ),
            Value::Table(table) => Tree::Table(made_table(table, at)),
            leaf => Tree::Leaf(leaf),
        };
        Self { at, tree }
    }

    /// Returns the value without its places.
    pub(super) fn value(&self) -> Value {
        match &self.tree {
            Tree::Leaf(value) => value.clone(),
            Tree::Array(nodes) => Value::Array(nodes.iter().map(Self::value).collect()),
            Tree::Table(table) => Value::Table(
                table
                    .iter()
                    .map(|(key, entry)| (key.clone(), entry.node.value()))
                    .collect(),
            ),
        }
    }

    /// Returns the type of the value, for messages.
    pub(super) fn type_name(&self) -> &'static str {
        match &self.tree {
            Tree::Table(_) => "a table",
            Tree::Array(_) => "a list",
            Tree::Leaf(Value::String(_)) => "a text",
            Tree::Leaf(Value::Integer(_)) => "a whole number",
            Tree::Leaf(Value::Float(_)) => "a number",
            Tree::Leaf(Value::Boolean(_)) => "true or false",
            Tree::Leaf(_) => "a date or time",
        }
    }
}

/// Creates a table that a program generated.
pub(super) fn made_table(table: toml::Table, at: At) -> Table {
    table
        .into_iter()
        .map(|(key, value)| {
            let node = Node::made(value, at);
            (key, Entry { key_at: at, node })
        })
        .collect()
}

/// Reads a document; `source` is its number.
pub(super) fn parse(text: &str, source: u32) -> Result<Table, Wrong> {
    let document = DeTable::parse(text).map_err(|error| {
        // An error without a place is shown at the beginning.
        let span = error.span().unwrap_or(0..0);
        let message = error.message().replace('\n', ", ");
        (At::of(source, &span), message)
    })?;
    convert_table(document.get_ref(), source, 0)
}

/// Reads one value, as on the right of `=`.
pub(super) fn parse_value(text: &str, source: u32) -> Result<Node, Wrong> {
    let value = DeValue::parse(text).map_err(|error| {
        // An error without a place is shown at the beginning.
        let span = error.span().unwrap_or(0..0);
        (At::of(source, &span), error.message().replace('\n', ", "))
    })?;
    convert(&value, source, 0)
}

fn convert_table(table: &DeTable<'_>, source: u32, depth: usize) -> Result<Table, Wrong> {
    table
        .iter()
        .map(|(key, value)| {
            let key_at = At::of(source, &key.span());
            if depth >= DEPTH_MAX {
                return Err((
                    key_at,
                    format!("more than {DEPTH_MAX} tables within tables"),
                ));
            }
            let node = convert(value, source, depth + 1)?;
            Ok((key.get_ref().to_string(), Entry { key_at, node }))
        })
        .collect()
}

fn convert(value: &Spanned<DeValue<'_>>, source: u32, depth: usize) -> Result<Node, Wrong> {
    let at = At::of(source, &value.span());
    let tree = match value.get_ref() {
        DeValue::String(text) => Tree::Leaf(Value::String(text.to_string())),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            Tree::Leaf(Value::Integer(
                parsed.map_err(|_| (at, "a whole number beyond 64 bits".to_owned()))?,
            ))
        }
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Tree::Leaf(Value::Float(number)),
            _ => {
                return Err((
                    at,
                    "expected a finite number, found NaN or infinity".to_owned(),
                ));
            }
        },
        DeValue::Boolean(flag) => Tree::Leaf(Value::Boolean(*flag)),
        DeValue::Datetime(time) => Tree::Leaf(Value::Datetime(*time)),
        DeValue::Array(values) => {
            if depth >= DEPTH_MAX {
                return Err((at, format!("more than {DEPTH_MAX} lists within lists")));
            }
            let nodes = values.iter().map(|value| convert(value, source, depth + 1));
            Tree::Array(nodes.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Tree::Table(convert_table(table, source, depth)?),
    };
    Ok(Node { at, tree })
}

/// Merges a scenario's settings into a scenario: tables are merged, everything else is replaced. A table merged into a
/// list of tables goes into its only one, or into those that its keys name.
pub(super) fn lay(base: &mut Table, over: Table) -> Result<(), Wrong> {
    for (key, entry) in over {
        match base.get_mut(&key) {
            None => {
                base.insert(key, entry);
            }
            Some(below) => {
                if key == "load" {
                    make_room(&mut below.node, &entry.node);
                }
                below.key_at = entry.key_at;
                lay_node(&mut below.node, entry.node, &key)?;
            }
        }
    }
    Ok(())
}

fn lay_node(below: &mut Node, over: Node, name: &str) -> Result<(), Wrong> {
    match (&mut below.tree, over.tree) {
        (Tree::Table(base), Tree::Table(over)) => {
            for (key, entry) in over {
                match base.get_mut(&key) {
                    Some(below) => {
                        below.key_at = entry.key_at;
                        lay_node(&mut below.node, entry.node, &key)?;
                    }
                    None => {
                        base.insert(key, entry);
                    }
                }
            }
            Ok(())
        }
        (Tree::Array(nodes), Tree::Table(over)) if nodes.iter().all(is_table) => {
            lay_into(nodes, over, name)
        }
        (_, tree) => {
            *below = Node { at: over.at, tree };
            Ok(())
        }
    }
}

fn lay_into(nodes: &mut [Node], over: Table, name: &str) -> Result<(), Wrong> {
    let alone = nodes.len() == 1;
    for (key, entry) in over {
        let named = nodes.iter_mut().find(|node| is_called(node, &key));
        let key_at = entry.key_at;
        match (named, &entry.node.tree) {
            (Some(node), Tree::Table(_)) => lay_node(node, entry.node, &key)?,
            _ if alone => {
                let over = Node {
                    at: key_at,
                    tree: Tree::Table(Table::from([(key, entry)])),
                };
                lay_node(&mut nodes[0], over, name)?;
            }
            _ => {
                let message = format!(
                    "`{name}` is a list of {}; say which one by its label, as in {name}.LABEL.key",
                    nodes.len()
                );
                return Err((key_at, message));
            }
        }
    }
    Ok(())
}

fn is_table(node: &Node) -> bool {
    matches!(node.tree, Tree::Table(_))
}

/// Returns whether a table in a list has a name: its label, its kind, or the last word of the setting that it varies.
fn is_called(node: &Node, name: &str) -> bool {
    let Tree::Table(table) = &node.tree else {
        return false;
    };
    let text = |key: &str| match table.get(key).map(|entry| &entry.node.tree) {
        Some(Tree::Leaf(Value::String(text))) => Some(text.as_str()),
        _ => None,
    };
    let set = text("set").and_then(|set| set.rsplit('.').next());
    [text("label"), text("kind"), set].contains(&Some(name))
}

/// Removes the other kinds of load from `below` if `over` has one.
fn make_room(below: &mut Node, over: &Node) {
    let (Tree::Table(below), Tree::Table(over)) = (&mut below.tree, &over.tree) else {
        return;
    };
    let brought: Vec<&(&str, &[&str])> = LOADS
        .iter()
        .filter(|(key, _)| over.contains_key(*key))
        .collect();
    if brought.is_empty() {
        return;
    }
    below.retain(|key, _| {
        brought
            .iter()
            .any(|(way, further)| key == way || further.contains(&key.as_str()))
            || !LOADS
                .iter()
                .any(|(way, further)| key == way || further.contains(&key.as_str()))
    });
}

/// Puts a value into a table under a path, and creates the tables on the way. The path is not empty.
pub(super) fn put(table: &mut Table, path: &[String], node: Node, key_at: At) -> Result<(), Wrong> {
    let Some((first, rest)) = path.split_first() else {
        return Err((key_at, "an empty key".to_owned()));
    };
    if path.len() > DEPTH_MAX {
        return Err((
            key_at,
            format!("more than {DEPTH_MAX} tables within tables"),
        ));
    }
    if rest.is_empty() {
        if table.contains_key(first) {
            return Err((key_at, format!("`{first}` is set twice")));
        }
        table.insert(first.clone(), Entry { key_at, node });
        return Ok(());
    }
    let entry = table.entry(first.clone()).or_insert_with(|| Entry {
        key_at,
        node: Node {
            at: key_at,
            tree: Tree::Table(Table::new()),
        },
    });
    match &mut entry.node.tree {
        Tree::Table(inner) => put(inner, rest, node, key_at),
        _ => Err((key_at, format!("`{first}` is set twice"))),
    }
}

/// Converts single tables to lists where a list of tables is expected.
pub(super) fn make_lists(table: &mut Table) {
    for key in ["work", "sweep", "published"] {
        if let Some(entry) = table.get_mut(key)
            && is_table(&entry.node)
        {
            let at = entry.node.at;
            let tree = std::mem::replace(&mut entry.node.tree, Tree::Array(Vec::new()));
            entry.node.tree = Tree::Array(vec![Node { at, tree }]);
        }
    }
}

/// Converts quoted names of nodes' settings with dots to nested tables.
pub(super) fn unquote_settings(table: &mut Table) -> Result<(), Wrong> {
    if let Some(settings) = inner(table, "chain").and_then(|chain| inner(chain, "settings")) {
        unquote(settings)?;
    }
    let Some(network) = inner(table, "network") else {
        return Ok(());
    };
    if let Some(settings) = inner(network, "settings") {
        unquote(settings)?;
    }
    for entry in inner(network, "nodes")
        .into_iter()
        .flat_map(|nodes| nodes.values_mut())
    {
        if let Tree::Table(own) = &mut entry.node.tree
            && let Some(settings) = inner(own, "settings")
        {
            unquote(settings)?;
        }
    }
    Ok(())
}

fn inner<'t>(table: &'t mut Table, key: &str) -> Option<&'t mut Table> {
    match &mut table.get_mut(key)?.node.tree {
        Tree::Table(inner) => Some(inner),
        _ => None,
    }
}

fn unquote(table: &mut Table) -> Result<(), Wrong> {
    let dotted: Vec<String> = table
        .keys()
        .filter(|key| key.contains('.'))
        .cloned()
        .collect();
    for key in dotted {
        if let Some(Entry { key_at, node }) = table.remove(&key) {
            let path: Vec<String> = key.split('.').map(str::to_owned).collect();
            put(table, &path, node, key_at)?;
        }
    }
    Ok(())
}

/// Copies places from the source document to a generated one, where both have the same keys.
pub(super) fn borrow_places(made: &mut Table, from: &Table) {
    for (key, entry) in made {
        if let Some(original) = from.get(key) {
            entry.key_at = original.key_at;
            borrow_node(&mut entry.node, &original.node);
        }
    }
}

fn borrow_node(made: &mut Node, from: &Node) {
    made.at = from.at;
    match (&mut made.tree, &from.tree) {
        (Tree::Table(made), Tree::Table(from)) => borrow_places(made, from),
        (Tree::Array(made), Tree::Array(from)) => {
            for (made, from) in made.iter_mut().zip(from) {
                borrow_node(made, from);
            }
        }
        _ => {}
    }
}
