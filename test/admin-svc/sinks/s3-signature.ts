/** Checks Signature Version 4 of a request like S3, by Amazon's rules and without the signing library. */
import { createHash, createHmac } from "node:crypto";
import type { ReceivedPost } from "./scripted-sink.ts";

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
const sha256 = (data: string | Buffer): string => createHash("sha256").update(data).digest("hex");

/** @returns whether the signature is by this secret, for exactly this method, path, signed headers and body */
export function isSignedForS3({ method, path, headers, body }: ReceivedPost, secret: string): boolean {
  const form =
    /^AWS4-HMAC-SHA256 Credential=[^/]+\/((\d{8})\/([^/]+)\/s3\/aws4_request), SignedHeaders=([^,]+), Signature=(\w+)$/;
  const [, scope = "", day = "", region = "", names = "", signature] = form.exec(headers.authorization ?? "") ?? [];
  const hash = sha256(body);
  if (headers["x-amz-content-sha256"] !== hash || !names.split(";").includes("host")) return false;
  const signed = names.split(";").map((name) => `${name}:${String(headers[name])}\n`);
  const canonical = [method, path, "", signed.join(""), names, hash].join("\n");
  const text = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, sha256(canonical)].join("\n");
  const key = [region, "s3", "aws4_request"].reduce<Buffer>(hmac, hmac(`AWS4${secret}`, day));
  return hmac(key, text).toString("hex") === signature;
}
