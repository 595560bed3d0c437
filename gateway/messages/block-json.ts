/** A content block as JSON, whole and as it begins in a stream. */

export interface BlockJson {
  /** The block; without its input, where `inputJson` holds it. */
  readonly json: string;
  readonly inputJson?: string;
}

/** A whole block, with its input. */
export const wholeBlock = ({ json, inputJson }: BlockJson): string =>
  inputJson === undefined ? json : `${json.slice(0, -1)},"input":${inputJson}}`;

/** The beginning of a block whose input follows in deltas. */
export const startedBlock = ({ json, inputJson }: BlockJson): string =>
  inputJson === undefined ? json : `${json.slice(0, -1)},"input":{}}`;
