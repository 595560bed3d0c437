/** Retry hints for clients, after a detector or judge has given no answer. */

/** Milliseconds after which a client may retry when a detector or judge service gave no answer. */
export const serviceRetryMs = 1_000;
