/** A content block as JSON, whole or as the start of a stream. */

export interface BlockJson {
  /** The block, without its input if `inputJson` is present. */
  readonly json: string;
  readonly inputJson?: string;
}

/** A whole block, with its input. */
export const toCompleteBlock = ({ json, inputJson }: BlockJson): string =>
  inputJson === undefined ? json : `${json.slice(0, -1)},"input":${inputJson}}`;

/** The start of a block whose input follows in deltas. */
export const startedBlock = ({ json, inputJson }: BlockJson): string =>
  inputJson === undefined ? json : `${json.slice(0, -1)},"input":{}}`;
