/** Money is counted in 10^-12 USD as whole numbers; only what is shown is a float. */

const picoPerDollar = 1e12;

/** The nearest float of an amount in 10^-12 USD; exact in its decimals below some thousand dollars. */
export const dollars = (pico: bigint): number => Number(pico) / picoPerDollar;
