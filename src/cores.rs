//! Work over many items on all cores. Not here: what runs beside a command for long (there is none).

/// What `work` makes of equal parts of `items`, in their order; `share` is the number of items for which a thread pays.
pub fn on_all_cores<T: Sync, R: Send>(items: &[T], share: usize, work: &(impl Fn(&[T]) -> Vec<R> + Sync)) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(cores).max(share);
    if items.len() <= share {
        return work(items);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.chunks(share).map(|part| scope.spawn(move || work(part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_once_and_in_order() {
        for count in [0, 1, 7, 1000] {
            let items: Vec<usize> = (0..count).collect();
            for share in [1, 3, 10_000] {
                assert_eq!(on_all_cores(&items, share, &|part| part.iter().map(|n| n + 1).collect()), (1..=count).collect::<Vec<_>>());
            }
        }
    }
}
