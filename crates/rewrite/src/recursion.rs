//! Which methods may call themselves, by way of others: as far as their own class tells.

use std::collections::HashMap;

use quipu_classfile::{ClassFile, Method};

use crate::calls::call_of;

/// Whether each method of a class may call itself: a method of the same name, of whatever class; or methods of its own
/// class that lead back to it. Methods between two such circles are taken for part of one.
pub fn recursive_methods(class: &ClassFile<'_>) -> Vec<bool> {
    let by_name: HashMap<_, _> =
        class.methods().map(|method| ((method.name(), method.descriptor()), method.index())).collect();
    let mut calls = Vec::new();
    let mut calls_namesake = Vec::new();
    for method in class.methods() {
        let mut namesake = false;
        for_each_call(&method, |owner, name, descriptor| {
            namesake |= name == method.name() && name != b"<init>";
            if let (true, Some(&callee)) = (owner == class.name(), by_name.get(&(name, descriptor))) {
                calls.push((method.index(), callee));
            }
        });
        calls_namesake.push(namesake);
    }
    // Whoever calls nobody, or is called by nobody, is in no circle; without him others may be in none either.
    let forward = in_front_of_circles(calls_namesake.len(), &calls);
    calls.iter_mut().for_each(|(caller, callee)| std::mem::swap(caller, callee));
    let backward = in_front_of_circles(calls_namesake.len(), &calls);
    let circles = forward.into_iter().zip(backward).map(|(forward, backward)| forward && backward);
    calls_namesake.into_iter().zip(circles).map(|(namesake, circle)| namesake || circle).collect()
}

fn for_each_call<'a>(method: &Method<'_, 'a>, mut call: impl FnMut(&'a [u8], &'a [u8], &'a [u8])) {
    let Ok(Some(code)) = method.code() else { return };
    let pool = method.class().pool();
    for callee in code.instructions().map_while(Result::ok).filter_map(|i| call_of(&i, pool)) {
        call(callee.owner, callee.name, callee.descriptor);
    }
}

/// Which methods are in a circle of calls or lead to one: those that are left when all that call nobody are gone.
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
