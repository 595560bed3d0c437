/** Requests to a counted process over its socket, one JSON text a line each way. */

/** `kinds` is microseconds, whose places are kinds of code. */
export type Quantity = "bytes" | "promises" | "kinds";

export type CountCommand =
  | { readonly do: "start"; readonly quantity: Quantity; readonly places: boolean }
  | { readonly do: "stop"; readonly quantity: Quantity; readonly places: number };

export interface Counted {
  readonly amount: number;
  /** The places with the largest amounts. */
  readonly places: readonly (readonly [label: string, amount: number])[];
}

export type CountReply = { readonly result: Counted } | { readonly error: string };

/** Socket of a process in the folder that its house was given. */
export const socketOf = (folder: string, pid: number): string => `${folder}/${pid}`;
