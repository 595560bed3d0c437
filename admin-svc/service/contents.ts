/** Encrypts captured content before it is stored, and decrypts it for an administrator. */
import { uuidForm } from "@sluice/proto/lib/ids/uuid.js";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CapturedContentSchema,
  type RecordContentsRequest,
  type TurnContent,
  TurnContentSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type CaptureSettings, parseCaptureKey } from "@sluice/proto/config/sinks/capture.js";
import { throwProblems, invalid } from "@sluice/proto/lib/validation/problems.js";
import { openContent, sealContent } from "../rules/content-cipher.ts";
import type { ContentRow } from "../store/contents.ts";

const maxContents = 100;
const maxIdLength = 1_024;
/** Refuses content capture when the configuration file has no encryption key. @throws Fault INVALID_REQUEST */
export function requireCapture(settings: CaptureSettings | undefined, field: string): CaptureSettings {
  if (settings) return settings;
  throw invalid(field, "nothing is captured here: the configuration file has no capture.key");
}

/** Encrypts captured contents for storage. @throws Fault INVALID_REQUEST with every problem */
export function sealContents({ contents }: RecordContentsRequest, settings: CaptureSettings): ContentRow[] {
  throwProblems((problems) => {
    if (contents.length === 0 || contents.length > maxContents) problems.add("contents", `1 to ${maxContents}`);
    for (const [index, { generationId, requestId, workspaceId, user = "" }] of contents.entries()) {
      const isStorable = [generationId, requestId, user].every((id) => id.length <= maxIdLength && !id.includes("\0"));
      if (!isStorable || !uuidForm.test(workspaceId)) problems.add(`contents.${index}`, "has an id that none can have");
    }
  });
  const key = keyBytes(settings.key);
  const expiresAt = new Date(Date.now() + settings.retention);
  return contents.map((content) => {
    const { generationId, keyHash, workspaceId, requestId, user = null } = content;
    const openedAt = new Date(Number(content.openedAtMs));
    const place = { generation_id: generationId, key_hash: keyHash, workspace_id: workspaceId, request_id: requestId };
    const bytes = toBinary(CapturedContentSchema, content.content ?? create(CapturedContentSchema));
    const { keyId, ...sealed } = sealContent(key, bytes, turnOf({ ...place, opened_at: openedAt }));
    return { ...place, user, opened_at: openedAt, expires_at: expiresAt, key_id: keyId, ...sealed };
  });
}

/** @throws Fault UNPROCESSABLE when the content cannot be decrypted */
export function openSealed(row: ContentRow, settings: CaptureSettings | undefined): TurnContent {
  const keys = settings ? [settings.key, ...settings.previous_keys].map(keyBytes) : [];
  const opened = openContent(keys, { keyId: row.key_id, salt: row.salt, sealed: row.sealed }, turnOf(row));
  if (opened === "unknown-key") {
    throw undecipherable(`it is encrypted with key ${row.key_id}: add that key to capture.previous_keys`);
  }
  if (opened === "changed") throw undecipherable("it was changed after it was stored");
  return create(TurnContentSchema, {
    generationId: row.generation_id,
    requestId: row.request_id,
    workspaceId: row.workspace_id,
    keyHash: row.key_hash,
    ...(row.user !== null && { user: row.user }),
    openedAtMs: BigInt(row.opened_at.getTime()),
    content: fromBinary(CapturedContentSchema, opened),
  });
}

const undecipherable = (why: string): Fault =>
  new Fault(FaultReason.UNPROCESSABLE, `The content cannot be decrypted: ${why}`);

/** Text identifying the turn of a content; encryption binds the content to it. */
const turnOf = (row: Pick<ContentRow, "generation_id" | "key_hash" | "workspace_id" | "request_id" | "opened_at">) =>
  JSON.stringify([row.workspace_id, row.key_hash, row.generation_id, row.request_id, row.opened_at.getTime()]);

/** Decodes the encryption key, whose form was checked when the configuration file was read. */
const keyBytes = (text: string): Buffer => parseCaptureKey(text) as Buffer;
