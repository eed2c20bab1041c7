//! Which methods may call themselves, by way of others: as far as their own class tells.

use quipu_classfile::ClassFile;

use crate::call::{ByTarget, Call, call_of};

/// Whether each method of a class may call itself: a method of the same name, of whatever class; or methods of its own
/// class that lead back to it. Methods between two such circles are taken for part of one, circles with a method larger
/// than the largest for none.
pub fn recursive_methods(class: &ClassFile<'_>, largest: usize) -> Vec<bool> {
    let mut own = ByTarget::default();
    for method in class.methods() {
        own.insert((direct(class.name(), method.name(), method.descriptor()), None), method.index() as u32);
    }
    let mut calls = Vec::new();
    let mut calls_namesake = Vec::new();
    for method in class.methods() {
        let mut namesake = false;
        let code = method.code().ok().flatten().filter(|code| code.bytes.len() <= largest);
        let instructions = code.iter().flat_map(|code| code.instructions().map_while(Result::ok));
        for call in instructions.filter_map(|i| call_of(&i, class.pool())) {
            namesake |= call.name == method.name() && call.name != b"<init>";
            if let Some(&callee) = own.get(&(direct(call.owner, call.name, call.descriptor), None)) {
                calls.push((method.index(), callee as usize));
            }
        }
        calls_namesake.push(namesake);
    }
    // A method that calls none, or that none calls, is in no circle; without it others may be in none either.
    let forward = in_front_of_circles(calls_namesake.len(), &calls);
    calls.iter_mut().for_each(|(caller, callee)| std::mem::swap(caller, callee));
    let backward = in_front_of_circles(calls_namesake.len(), &calls);
    let circles = forward.into_iter().zip(backward).map(|(forward, backward)| forward && backward);
    calls_namesake.into_iter().zip(circles).map(|(namesake, circle)| namesake || circle).collect()
}

/// However a method is called, it is the same one.
fn direct<'a>(owner: &'a [u8], name: &'a [u8], descriptor: &'a [u8]) -> Call<'a> {
    Call { owner, name, descriptor, is_virtual: false, is_interface: false }
}

/// Which methods are in a circle of calls or lead to one: those that are left when all that call no other are gone.
fn in_front_of_circles(methods: usize, calls: &[(usize, usize)]) -> Vec<bool> {
    let mut callees = vec![0_u32; methods];
    let mut callers = vec![Vec::new(); methods];
    for &(caller, callee) in calls {
        if let (Some(count), Some(callers)) = (callees.get_mut(caller), callers.get_mut(callee)) {
            *count += 1;
            callers.push(caller);
        }
    }
    let mut gone: Vec<usize> = (0..methods).filter(|&method| callees.get(method) == Some(&0)).collect();
    while let Some(method) = gone.pop() {
        for &caller in callers.get(method).into_iter().flatten() {
            if let Some(count) = callees.get_mut(caller) {
                *count -= 1;
                if *count == 0 {
                    gone.push(caller);
                }
            }
        }
    }
    callees.into_iter().map(|left| left != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::in_front_of_circles;

    #[test]
    fn methods_in_front_of_a_circle_are_told_from_those_behind_it() {
        // 0 calls 1, which calls 2 and is called by it; 2 calls 3, which calls 4. 5 calls itself.
        let calls = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (5, 5)];
        assert_eq!(in_front_of_circles(6, &calls), [true, true, true, false, false, true]);
    }
}
