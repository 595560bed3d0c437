/** `exports`: external services that receive the records of turns. */
import { z } from "zod";
import { headerFields } from "../mcp.ts";
import { httpUrl, exactlyOne, sinkName, sinkWorkspace, uniquelyNamedList, webhook } from "./common.ts";

const s3 = z.strictObject({
  bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "the name of a bucket"),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, "a region such as eu-central-1")
    .default("us-east-1"),
  endpoint: httpUrl
    .optional()
    .describe("Base URL of another service with the interface of S3; Amazon's of the region when absent."),
  path_style: z
    .boolean()
    .optional()
    .describe("Whether the bucket stands in the path and not in the host; by default where there is an endpoint."),
  prefix: z
    .string()
    .regex(/^[\w.=/-]{0,512}$/, "letters, digits and _ . = / -")
    .default("")
    .describe("Beginning of the names of objects, such as sluice/."),
  access_key_id: z.string().min(1),
  secret_access_key: z.string().min(1),
  session_token: z.string().min(1).optional(),
});
export type S3Settings = z.infer<typeof s3>;

const otlp = z.strictObject({
  url: httpUrl.describe("Base URL of a collector of OpenTelemetry; logs go to /v1/logs below it."),
  headers: headerFields.default({}).describe("Header fields of every request to it, such as Authorization."),
});
export type OtlpSettings = z.infer<typeof otlp>;

const exportEntry = z
  .strictObject({
    name: sinkName.describe("Its name in metrics and in the log. A new name is a new export, which begins anew."),
    workspace: sinkWorkspace,
    every_seconds: z
      .int()
      .min(1)
      .max(3_600)
      .default(10)
      .describe("Time for which turns are collected, unless a batch is full before."),
    webhook: webhook.optional(),
    s3: s3.optional(),
    otlp: otlp.optional(),
  })
  .superRefine(exactlyOne("webhook", "s3", "otlp"));

export const exportSections = uniquelyNamedList(exportEntry);

export type ExportSettings = z.infer<typeof exportSections>[number];
