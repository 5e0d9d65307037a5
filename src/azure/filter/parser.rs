//! Puts the words of a filter together: `not` binds stronger than `and`, that stronger than `or`.
//!
//! It keeps its own stack, so no filter takes more of the thread's.

use super::lexer::{Lexer, Word};
use super::tree::{COMPARISONS, Node, Operator};
use crate::azure::edm::{EdmType, EdmValue};
use crate::azure::{AzureCode, AzureError, AzureResult, names};

/// What waits for its right side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Open,
    Or,
    And,
    Not,
}

/// Parses a filter; `None` for a text without a word.
pub(super) fn parse(text: &str) -> AzureResult<Option<Node>> {
    let mut parser = Parser { lexer: Lexer::new(text), pending: Vec::new(), nodes: Vec::new(), count: 0, ahead: None };
    let Some(first) = parser.next()? else { return Ok(None) };
    parser.ahead = Some(first);
    parser.run()?;
    Ok(parser.nodes.pop())
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    pending: Vec<Pending>,
    nodes: Vec<Node>,
    /// Comparisons so far.
    count: usize,
    /// A word that was read and not used.
    ahead: Option<Word<'t>>,
}

impl<'t> Parser<'t> {
    fn next(&mut self) -> AzureResult<Option<Word<'t>>> {
        match self.ahead.take() {
            Some(word) => Ok(Some(word)),
            None => self.lexer.next_word(),
        }
    }

    fn run(&mut self) -> AzureResult<()> {
        loop {
            self.operand()?;
            loop {
                match self.next()? {
                    Some(Word::Close) => {
                        self.reduce(Pending::Or);
                        if self.pending.pop() != Some(Pending::Open) {
                            return Err(self.lexer.syntax());
                        }
                    }
                    Some(Word::And) => {
                        self.reduce(Pending::And);
                        self.pending.push(Pending::And);
                        break;
                    }
                    Some(Word::Or) => {
                        self.reduce(Pending::Or);
                        self.pending.push(Pending::Or);
                        break;
                    }
                    Some(_) => return Err(self.lexer.syntax()),
                    None => {
                        self.reduce(Pending::Or);
                        return if self.pending.is_empty() { Ok(()) } else { Err(self.lexer.syntax()) };
                    }
                }
            }
        }
    }

    /// Reads what may stand before it, and a comparison.
    fn operand(&mut self) -> AzureResult<()> {
        loop {
            match self.next()? {
                Some(Word::Open) => self.pending.push(Pending::Open),
                Some(Word::Not) => match self.pending.last() {
                    // Two of them cancel out.
                    Some(Pending::Not) => {
                        self.pending.pop();
                    }
                    _ => self.pending.push(Pending::Not),
                },
                Some(Word::Property(name)) => {
                    names::check_property(name)?;
                    let property = name.into();
                    let node = match self.next()? {
                        Some(Word::Operator(operator)) => match self.next()? {
                            Some(Word::Literal(literal)) => Node::Comparison { property, operator, literal },
                            // Two properties cannot be compared. So `True` is no property here.
                            Some(Word::Property(name)) => {
                                let literal = EdmValue::parse_typed(name, EdmType::Boolean, name)?;
                                Node::Comparison { property, operator, literal }
                            }
                            _ => return Err(self.lexer.syntax()),
                        },
                        other => {
                            self.ahead = other;
                            Node::Property(property)
                        }
                    };
                    return self.push(node);
                }
                Some(Word::Literal(literal)) => {
                    let node = self.behind_literal(literal)?;
                    return self.push(node);
                }
                _ => return Err(self.lexer.syntax()),
            }
        }
    }

    /// A comparison whose constant stands first, or a constant.
    fn behind_literal(&mut self, literal: EdmValue<'static>) -> AzureResult<Node> {
        match self.next()? {
            Some(Word::Operator(operator)) => match self.next()? {
                Some(Word::Property(name)) => {
                    names::check_property(name)?;
                    Ok(Node::Comparison { property: name.into(), operator: Operator::swapped(operator), literal })
                }
                Some(Word::Literal(_)) => Err(AzureError::invalid_input()),
                _ => Err(self.lexer.syntax()),
            },
            other => {
                self.ahead = other;
                match literal {
                    EdmValue::Boolean(value) => Ok(Node::Constant(value)),
                    _ => {
                        let text = "The $filter expression must evaluate to a single boolean value.";
                        Err(AzureError::new(AzureCode::InvalidInput, text))
                    }
                }
            }
        }
    }

    fn push(&mut self, node: Node) -> AzureResult<()> {
        self.count += 1;
        if self.count > COMPARISONS {
            return Err(AzureError::invalid_input());
        }
        self.nodes.push(node);
        Ok(())
    }

    /// Joins what binds at least as strongly.
    fn reduce(&mut self, down_to: Pending) {
        while let Some(last) = self.pending.last().copied() {
            let joins = match last {
                Pending::Open => false,
                Pending::Or => down_to == Pending::Or,
                Pending::And | Pending::Not => true,
            };
            if !joins {
                return;
            }
            self.pending.pop();
            let Some(right) = self.nodes.pop() else { return };
            let node = match last {
                Pending::Not => match right {
                    Node::Not(inner) => *inner,
                    other => Node::Not(Box::new(other)),
                },
                _ => {
                    let Some(left) = self.nodes.pop() else { return };
                    let both = Box::new([left, right]);
                    if last == Pending::And { Node::And(both) } else { Node::Or(both) }
                }
            };
            self.nodes.push(node);
        }
    }
}
