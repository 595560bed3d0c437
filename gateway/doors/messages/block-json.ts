/** A content block as JSON, whole or as the start of a stream. */

export interface BlockJson {
  /** JSON of the block; without the input of a call if `inputJson` has it. */
  readonly json: string;
  readonly inputJson?: string;
}

/** A complete block as JSON, with its input. */
export const toCompleteBlock = ({ json, inputJson }: BlockJson): string =>
  inputJson === undefined ? json : `${json.slice(0, -1)},"input":${inputJson}}`;

/** The start of a block as JSON; the input of the call follows in deltas. */
export const startedBlock = ({ json, inputJson }: BlockJson): string =>
  inputJson === undefined ? json : `${json.slice(0, -1)},"input":{}}`;
