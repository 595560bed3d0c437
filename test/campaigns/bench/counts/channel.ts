/** Requests to a process that counts, over its socket: one line of JSON each way. */

/**
 * What a process counts. `survivors` are bytes that survive young collections, `kinds` microseconds by kind of code, `functions` the number of
 * functions entered.
 */
export type CountedQuantity = "bytes" | "survivors" | "promises" | "kinds" | "functions";

export type CountCommand =
  | { readonly do: "start"; readonly quantity: CountedQuantity; readonly places: boolean }
  | { readonly do: "stop"; readonly quantity: CountedQuantity; readonly places: number };

export interface CountResult {
  readonly amount: number;
  /** The places with the largest amounts, largest first. */
  readonly places: readonly (readonly [label: string, amount: number])[];
}

export type CountReply = { readonly result: CountResult } | { readonly error: string };

/** Path of a process's socket in the folder that its installation was given. */
export const socketOf = (folder: string, pid: number): string => `${folder}/${pid}`;
