/**
 * Joins records of finished calls and turns into one message for admin-svc, as bytes: as objects, the garbage collector
 * would copy hundreds of them twice while they wait for the answer.
 */
import { create, fromBinary } from "@bufbuild/protobuf";
import { type RecordUsageRequest, RecordUsageRequestSchema } from "../../gen/sluice/admin/v1/ledger_service_pb.ts";
import { nameEnd } from "./spool-line.ts";

/** Protobuf tag of `records_json`, field 1 of RecordUsageRequest: bytes with their length. */
const recordTag = 0x0a;
/** Protobuf tag of `turns_json`, field 2 of RecordUsageRequest. */
const turnTag = 0x12;
/** Maximum size of a record's tag and length: lines are shorter than 2^21 bytes. */
const prefixBytes = 4;

export class RecordBatch {
  #bytes: Buffer;
  #end = 0;
  #count = 0;

  /** @param bytes expected size of all records */
  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes);
  }

  get count(): number {
    return this.#count;
  }

  clear(): void {
    this.#end = 0;
    this.#count = 0;
  }

  /** The records as a RecordUsageRequest. */
  get message(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  /** One RecordUsageRequest for each record. */
  get messages(): readonly RecordUsageRequest[] {
    const { recordsJson, turnsJson } = fromBinary(RecordUsageRequestSchema, this.message);
    return [
      ...recordsJson.map((json) => create(RecordUsageRequestSchema, { recordsJson: [json] })),
      ...turnsJson.map((json) => create(RecordUsageRequestSchema, { turnsJson: [json] })),
    ];
  }

  /** Adds the record of a call from one line that has both its start and its end. */
  addWhole(bytes: Buffer, at: number, end: number): void {
    this.#begin(recordTag, end - at - 1);
    this.#copy(bytes, at + 1, end);
  }

  /** Adds the record of a turn. */
  addTurn(bytes: Buffer, at: number, end: number): void {
    this.#begin(turnTag, end - at - 1);
    this.#copy(bytes, at + 1, end);
  }

  /** Adds a record whose start and end are in two lines. */
  addWithRecord(start: Buffer, startAt: number, startEnd: number, bytes: Buffer, at: number, end: number): void {
    const from = nameEnd(bytes, at);
    this.#begin(recordTag, startEnd - startAt - 2 + end - from);
    this.#copy(start, startAt + 1, startEnd - 1);
    this.#copy(bytes, from, end);
  }

  #begin(tag: number, length: number): void {
    this.#count++;
    this.#reserve(length + prefixBytes);
    this.#bytes[this.#end++] = tag;
    let left = length;
    for (; left > 0x7f; left >>>= 7) this.#bytes[this.#end++] = (left & 0x7f) | 0x80;
    this.#bytes[this.#end++] = left;
  }

  #copy(bytes: Buffer, from: number, to: number): void {
    this.#end += bytes.copy(this.#bytes, this.#end, from, to);
  }

  #reserve(size: number): void {
    if (this.#end + size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#bytes.length + size));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}
