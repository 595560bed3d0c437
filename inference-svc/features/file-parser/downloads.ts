/** Downloads files a request names by URL and that the plugin file-parser must read, when no endpoint would download them itself. */
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { parsesFiles, wantsPdfText } from "../../content/files/parsing.ts";
import { findFiles, replaceParts, fileUrlOf, isNamedByUrl } from "../../content/files/part.ts";
import type { FilePart } from "../../turn/file-text.ts";
import { requestLayer } from "../../turn/layer-builders.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import type { DownloadedFile, Downloads } from "../../content/downloads.ts";
import type { CallingFeature, DryKit } from "../kit.ts";
import { applies } from "../applies.ts";

/** Maximum number and total bytes of a request's downloaded files; `file_data` has the same byte limit. */
const maxFiles = 20;
const maxBytes = 25_165_824;
/** Copies of a file in memory: its bytes, their base64 text here, and that text in the body for the provider. */
const copiesOfFile = 4;

export const fileDownloads: CallingFeature = {
  id: "file-downloads",
  applies: applies.fileDownloads,
  layer: (kit) => downloading(kit, (file, request, scope) => fetchFile(file, kit.web, scope)),
  dryRun: (kit) =>
    downloading(kit, (file, _, { trace }) => {
      trace.stages.push(stageOf(file, "Not fetched: a dry run fetches no file", { action: "not_run" }));
      return { data: "data:text/plain;base64,", name: "", bytes: 0 };
    }),
};

interface Download {
  /** The downloaded file as a data URL. */
  readonly data: string;
  /** Last segment of the URL's path; empty when the path ends with a slash. */
  readonly name: string;
  readonly bytes: number;
}

type Fetch = (file: FilePart, request: TurnRequest, scope: Scope) => Download | Promise<Download>;

const downloading = (kit: DryKit, fetch: Fetch) =>
  requestLayer(async (request, scope) => {
    const files = findFiles(request.input).filter(isNamedByUrl);
    if (!parsesFiles(request) || (!wantsPdfText(request) && isServed(request, scope, kit))) return request;
    const [tooMany] = files.slice(maxFiles);
    if (tooMany) throw invalid(tooMany.path, `at most ${maxFiles} files by file_url are read in a request`);
    const parts = new Map<unknown, object>();
    let bytes = 0;
    // Downloads are sequential, so each file's size counts before the next one begins.
    for (const file of files) {
      const download = await fetch(file, request, scope);
      bytes += download.bytes;
      if (bytes > maxBytes) throw invalid(file.path, "the files by file_url are larger than 24 MiB together");
      parts.set(file.part, partOf(file, download));
    }
    return { ...request, input: replaceParts(request.input, parts) };
  });

/** Whether an endpoint accepts the files by URL. Excluded endpoints are not recorded here: the layer that chooses the endpoint records them. */
function isServed(request: TurnRequest, scope: Scope, { router, toProviderRequest }: DryKit): boolean {
  try {
    router.findCandidates(toProviderRequest(request, scope), scope);
    return true;
  } catch {
    return false;
  }
}

/** Downloads one file. @throws Fault INVALID_REQUEST when the download fails */
async function fetchFile(file: FilePart, web: Downloads, { signal, held, trace }: Scope): Promise<Download> {
  try {
    const fetched = await web.download(fileUrlOf(file), signal);
    const { length: bytes } = fetched.body;
    held.grow(copiesOfFile * bytes);
    trace.stages.push(stageOf(file, `Fetched: ${bytes} bytes`, { type: mediaTypeOf(fetched), bytes }));
    return { data: toDataUrl(fetched), name: nameIn(fetched.url), bytes };
  } catch (error) {
    if (!(error instanceof PageUnreadable)) throw error;
    throw invalid(`${file.path}.file_url`, `the file was not read: ${error.message}`);
  }
}

const stageOf = ({ path }: FilePart, summary: string, data: object) =>
  ({ type: "plugin", name: "file-parser", summary, data: { engine: "fetch", path, ...data } }) as const;

const mediaTypeOf = ({ type }: DownloadedFile): string =>
  /^[\w.+-]{1,100}\/[\w.+-]{1,100}/.exec(type)?.[0].toLowerCase() ?? "application/octet-stream";

function toDataUrl(fetched: DownloadedFile): string {
  const charset = /;\s*charset="?([\w-]{1,40})/i.exec(fetched.type)?.[1];
  const settings = charset === undefined ? "" : `;charset=${charset}`;
  return `data:${mediaTypeOf(fetched)}${settings};base64,${fetched.body.toString("base64")}`;
}

function nameIn(url: string): string {
  const last = new URL(url).pathname.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

function partOf({ part }: FilePart, { data, name }: Download): object {
  const { file_url: _, filename, ...rest } = part;
  const given = typeof filename === "string" && filename !== "" ? filename : name;
  return { ...rest, file_data: data, ...(given !== "" && { filename: given }) };
}
