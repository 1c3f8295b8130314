// Which items of a list really moved, when the list is in another order than before.

/**
 * Find the largest set of items that are in order already.
 *
 * @param {number[]} places where each item was
 * @param {number} [pinned] the index of an item that must be in the set, or -1
 * @returns {number[]} indices of `places`, ascending
 */
export function longestRun(places, pinned = -1) {
  const fits = (index) =>
    pinned < 0 || index === pinned || index < pinned === places[index] < places[pinned];
  const tails = []; // tails[n]: index of the smallest place that ends a run of n + 1 items
  const before = [];
  for (let index = 0; index < places.length; index++) {
    if (!fits(index)) continue;
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[tails[middle]] < places[index]) low = middle + 1;
      else high = middle;
    }
    before[index] = low > 0 ? tails[low - 1] : -1;
    tails[low] = index;
  }
  const run = [];
  for (let index = tails.at(-1) ?? -1; index >= 0; index = before[index]) run.push(index);
  return run.reverse();
}
