/** Requests to a counted process over its socket, one JSON text a line each way. */

/**
 * `survivors` is the bytes that outlive young collections, `kinds` microseconds by kind of code, `functions` the number of functions entered.
 */
export type CountedQuantity = "bytes" | "survivors" | "promises" | "kinds" | "functions";

export type CountCommand =
  | { readonly do: "start"; readonly quantity: CountedQuantity; readonly places: boolean }
  | { readonly do: "stop"; readonly quantity: CountedQuantity; readonly places: number };

export interface CountResult {
  readonly amount: number;
  /** The places with the largest amounts. */
  readonly places: readonly (readonly [label: string, amount: number])[];
}

export type CountReply = { readonly result: CountResult } | { readonly error: string };

/** A process's socket in the folder given to its installation. */
export const socketOf = (folder: string, pid: number): string => `${folder}/${pid}`;
