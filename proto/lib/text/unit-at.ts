/** Reads a text unit by unit. */
// oxlint-disable-next-line typescript/unbound-method
const { charCodeAt } = String.prototype;

/**
 * The UTF-16 unit at an index; NaN outside of the text. Loops over texts use it instead of the method, and read the length before they begin.
 *
 * V8 has a dozen forms of strings, such as slices and concatenations, and looks a property up again for each unit once a place in the code has seen more
 * than four: 462 units took 2.9 us by `text.charCodeAt(index)` with `index < text.length`, and 0.4 us in this way (Node 20, 2026-11-26).
 */
export const unitAt = (text: string, index: number): number => charCodeAt.call(text, index);
