/** When to try again after a detector or judge has not answered. */

/** Retry hint after a detector or judge service gave no answer. */
export const serviceRetryMs = 1_000;
