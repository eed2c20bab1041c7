//! Updates of code that is assembled here, so that their costs can be counted by hand.

use quipu_classfile::opcode::*;
use quipu_classfile::{BlockAnalysis, Blocks, ClassFile};

use super::{Update, is_delicate, updates};

/// Pool entry of a static method `()V` that code can call.
const CALL: u8 = 8;

/// A class `T` with the one method `static m()V` that has this code and exception table.
fn class(code: &[u8], handlers: &[[u16; 3]]) -> Vec<u8> {
    let u2 = |n: usize| (n as u16).to_be_bytes();
    let u4 = |n: usize| (n as u32).to_be_bytes();
    let mut out = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 49, 0, 10];
    for name in ["T", "m", "()V", "Code"] {
        out.push(1);
        out.extend(u2(name.len()));
        out.extend(name.bytes());
    }
    // 5: class T, 6: class T as super, 7: m()V, 8: T.m()V, 9: nothing of interest.
    out.extend([7, 0, 1, 7, 0, 1, 12, 0, 2, 0, 3, 10, 0, 5, 0, 7, 3, 0, 0, 0, 0]);
    out.extend([0, 0x21, 0, 5, 0, 6, 0, 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 3, 0, 1, 0, 4]);
    out.extend(u4(12 + code.len() + 8 * handlers.len()));
    out.extend([0, 9, 0, 9]);
    out.extend(u4(code.len()));
    out.extend(code);
    out.extend(u2(handlers.len()));
    for handler in handlers {
        handler.iter().for_each(|&n| out.extend(n.to_be_bytes()));
        out.extend([0, 0]);
    }
    out.extend([0, 0, 0, 0]);
    out
}

fn updates_of(code: &[u8], handlers: &[[u16; 3]]) -> Vec<(u32, u32, bool)> {
    let bytes = class(code, handlers);
    let class = ClassFile::parse(&bytes).expect("a class");
    let method = class.method(0).expect("a method");
    let code = method.code().expect("code").expect("code");
    let blocks = Blocks::analyse(&code, class.pool(), BlockAnalysis::Default).expect("blocks");
    let found = updates(&blocks, &code, class.pool(), |block| block.instructions);
    found.iter().map(|&Update { bci, cost, checks, .. }| (bci, cost, checks)).collect()
}

#[test]
fn the_paper_s_example_takes_two_at_entry_and_ten_in_the_loop() {
    let sum = [
        ICONST_0,
        ISTORE_2, // int result = 0
        ILOAD_0,
        ILOAD_1,
        IF_ICMPLE,
        0,
        5, // while (true) if (from > to)
        ILOAD_2,
        IRETURN, // return result
        ILOAD_2,
        INVOKESTATIC,
        0,
        CALL,
        IADD,
        ISTORE_2, // result += f(from), which takes and gives an int
        IINC,
        0,
        1,
        GOTO,
        0xFF,
        0xF0, // ++from
    ];
    // One instruction less than the paper's: the callee here takes no argument.
    assert_eq!(updates_of(&sum, &[]), [(0, 2, false), (2, 9, true)]);
    let mut with_argument = sum.to_vec();
    with_argument.insert(10, ILOAD_0);
    let back = with_argument.len() - 1;
    with_argument[back] -= 1;
    assert_eq!(updates_of(&with_argument, &[]), [(0, 2, false), (2, 10, true)]);
}

#[test]
fn a_leaf_is_not_checked_and_a_caller_is() {
    assert_eq!(updates_of(&[NOP, NOP, RETURN], &[]), [(0, 3, false)]);
    assert_eq!(updates_of(&[NOP, INVOKESTATIC, 0, CALL, RETURN], &[]), [(0, 3, true)]);
}

#[test]
fn the_longer_branch_counts() {
    let code = [ICONST_0, IFEQ, 0, 6, NOP, NOP, RETURN, RETURN];
    assert_eq!(updates_of(&code, &[]), [(0, 5, false)]);
}

#[test]
fn the_longest_case_of_a_switch_counts() {
    let code = [
        ICONST_0,
        TABLESWITCH,
        0,
        0,
        0,
        0,
        0,
        26,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        1,
        0,
        0,
        0,
        23,
        0,
        0,
        0,
        25, // bci 24
        RETURN,
        NOP,
        RETURN, // cases
        NOP,
        NOP,
        NOP,
        RETURN, // default, at 27 = 1 + 26
    ];
    assert_eq!(updates_of(&code, &[]), [(0, 6, false)]);
}

#[test]
fn nested_loops_are_updated_each() {
    let code = [
        NOP, // 0
        NOP, // 1: outer
        NOP, NOP, // 2: inner
        ICONST_0, IFEQ, 0xFF, 0xFD, // 5 -> 2
        NOP, ICONST_0, IFEQ, 0xFF, 0xF7, // 10 -> 1
        NOP, RETURN,
    ];
    assert_eq!(updates_of(&code, &[]), [(0, 1, false), (1, 1, true), (2, 9, true)]);
}

#[test]
fn a_handler_is_updated_but_not_checked() {
    // 0: a division that may throw; its handler at 4 calls something, so the entry checks though it calls nothing.
    let code = [ICONST_0, ICONST_0, IDIV, RETURN, ASTORE_0, INVOKESTATIC, 0, CALL, RETURN];
    let found = updates_of(&code, &[[0, 3, 4]]);
    assert_eq!(found, [(0, 4, true), (4, 3, false)]);
    // Without the call there is no need to check.
    let code = [ICONST_0, ICONST_0, IDIV, RETURN, ASTORE_0, RETURN];
    assert_eq!(updates_of(&code, &[[0, 3, 4]]), [(0, 4, false), (4, 2, false)]);
}

#[test]
fn a_subroutine_is_updated_and_what_follows_its_call_belongs_to_the_caller() {
    let code = [JSR, 0, 5, NOP, RETURN, ASTORE_0, NOP, NOP, RET, 0];
    assert_eq!(updates_of(&code, &[]), [(0, 3, false), (5, 4, false)]);
}

#[test]
fn a_loop_at_the_beginning_has_one_update() {
    let code = [INVOKESTATIC, 0, CALL, ICONST_0, IFEQ, 0xFF, 0xFC, RETURN];
    assert_eq!(updates_of(&code, &[]), [(0, 4, true)]);
}

#[test]
fn delicate_code_is_named_exactly() {
    assert!(is_delicate(b"java/lang/Thread", b"join") && !is_delicate(b"java/lang/Thread", b"run"));
    assert!(is_delicate(b"java/lang/ThreadLocal$ThreadLocalMap", b"set"));
    assert!(is_delicate(b"java/io/PrintStream", b"println") && !is_delicate(b"java/io/PrintStreams", b"x"));
    assert!(!is_delicate(b"java/lang/ThreadBuilders", b"x") && !is_delicate(b"java/util/HashMap", b"put"));
}

struct NothingKnown;

impl crate::Known for NothingKnown {
    fn opaque(&self, _: &crate::Call<'_>) -> Option<crate::OpaqueCallee> {
        None
    }
}

#[test]
fn without_an_agent_nothing_is_inserted_for_it() {
    let bytes = class(&[NOP, INVOKESTATIC, 0, CALL, ICONST_0, IFEQ, 0xFF, 0xFB, RETURN], &[]);
    let class = ClassFile::parse(&bytes).expect("a class");
    let mut plan = crate::Plan::new("java/quipu");
    let mut names_activation = |activation| {
        plan.activation = activation;
        let rewritten = crate::rewrite(&class, &plan, 8, &NothingKnown).expect("rewritten");
        assert!(rewritten.left.is_empty(), "{:?}", rewritten.left);
        let bytes = rewritten.bytes.expect("it counts");
        bytes.windows(10).any(|window| window == b"Activation")
    };
    assert!(names_activation(true) && !names_activation(false));
}
