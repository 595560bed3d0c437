/**
 * Downloads images given by URL, for endpoints that accept only bytes. This happens right before the request is sent,
 * after all guardrails, under the rules for web pages.
 */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { replaceParts } from "../../content/files/part.ts";
import type { Endpoint } from "../../models/routing/catalog.ts";
import type { DialectSupport } from "../../models/routing/choose/candidates.ts";
import { bareRequest } from "../../turn/bare-request.ts";
import { requestLayer } from "../../turn/layer-builders.ts";
import { ListMemo } from "../../turn/parse/list-memo.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { StateKey } from "../../turn/turn-state.ts";
import type { Stage } from "../../turn/trace.ts";
import type { Layer } from "../../turn/turn.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import type { Downloads } from "../../content/downloads.ts";
import { endpointApplies } from "../applies.ts";

/** Maximum number and total bytes of a request's downloaded images. */
const maxImages = 20;
const maxTotalBytes = 25_165_824;
/** Copies of an image in memory: its base64 text here and in the body for the provider. */
const copiesOfImage = 3;

interface NamedImage {
  readonly path: string;
  readonly part: Readonly<Record<string, unknown>>;
  readonly url: string;
}

interface FetchedImage {
  /** The image as a data URL. */
  readonly data: string;
  readonly bytes: number;
}

interface EndpointKit {
  readonly dialects: DialectSupport;
  /** Downloads images; undefined in a dry run, which downloads nothing. */
  readonly web?: Downloads | undefined;
}

/** Images downloaded in a turn, by URL: retries and agent steps do not download them again. */
const fetchedImages = new StateKey(() => new Map<string, FetchedImage>());

export const imageDownloads = {
  id: "image-downloads",
  applies: endpointApplies.imageDownloads,
  layer: (endpoint: Endpoint, { dialects, web }: EndpointKit): Layer => {
    const takesUrls = remembered((each) => takesImageUrls(each, dialects));
    return requestLayer((request, scope) => {
      const images = namedImages.of(request.input);
      if (images.length === 0 || takesUrls(endpoint)) return request;
      return withBytes(request, images, scope, { endpoint, dialects, web });
    });
  },
};

/** Extends dialect support: an image URL counts as supported if the format accepts image bytes, since the image is then downloaded. */
export function supportImageUrls(support: DialectSupport): DialectSupport {
  const takesUrls = remembered((endpoint) => takesImageUrls(endpoint, support));
  const outgoing = (endpoint: Endpoint, request: TurnRequest): TurnRequest => {
    const images = namedImages.of(request.input);
    return images.length === 0 || takesUrls(endpoint) ? request : withPlaceholders(request, images);
  };
  return {
    refusal: (endpoint, request) => support.refusal(endpoint, outgoing(endpoint, request)),
    droppedFields: (endpoint, request) => support.droppedFields(endpoint, outgoing(endpoint, request)),
    dropsSearch: (endpoint, request) => support.dropsSearch?.(endpoint, outgoing(endpoint, request)) === true,
  };
}

/** Caches a decision by endpoint, since it depends only on the endpoint's format; a reload creates new endpoints. */
function remembered(decide: (endpoint: Endpoint) => boolean): (endpoint: Endpoint) => boolean {
  const known = new WeakMap<Endpoint, boolean>();
  return (endpoint) => {
    let decision = known.get(endpoint);
    if (decision === undefined) known.set(endpoint, (decision = decide(endpoint)));
    return decision;
  };
}

/** Whether no download is needed. False only if the format accepts image bytes but not URLs: without image support, a download is useless. */
function takesImageUrls(endpoint: Endpoint, support: DialectSupport): boolean {
  const isTaken = (url: string) => {
    const content = [{ type: "input_image", detail: "auto", image_url: url }];
    const input = [{ type: "message", role: "user", content }];
    return support.refusal(endpoint, bareRequest({ models: [endpoint.model], input })) === undefined;
  };
  return isTaken("https://a.example/a.png") || !isTaken(placeholder);
}

/** Images given by URL in an input, cached because each candidate endpoint needs them several times. */
const namedImages = new ListMemo<readonly NamedImage[]>([], (before, input, from) => {
  const named = [...before];
  for (let index = from; index < input.length; index++) addNamedImages(input[index] as InputItem, index, named);
  return named;
});

const partFields = ["content", "output"];

function addNamedImages(item: InputItem, index: number, named: NamedImage[]): void {
  for (const field of partFields) {
    const parts = item[field];
    if (!Array.isArray(parts)) continue;
    for (let place = 0; place < parts.length; place++) {
      const part: unknown = parts[place];
      const url = isObject(part) && part["type"] === "input_image" ? part["image_url"] : undefined;
      if (typeof url !== "string" || !/^https?:/i.test(url)) continue;
      named.push({ path: `input.${index}.${field}.${place}`, part: part as NamedImage["part"], url });
    }
  }
}

/** A white pixel, which stands for images that are not downloaded yet. */
const placeholder =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII=";

const replaced = new WeakMap<TurnRequest, TurnRequest>();

function withPlaceholders(request: TurnRequest, images: readonly NamedImage[]): TurnRequest {
  let outgoing = replaced.get(request);
  if (outgoing === undefined) {
    const parts = new Map(images.map(({ part }) => [part, { ...part, image_url: placeholder }]));
    replaced.set(request, (outgoing = { ...request, input: replaceParts(request.input, parts) }));
  }
  return outgoing;
}

/**
 * Replaces the URLs of images by their bytes. @throws Fault INVALID_REQUEST when an image cannot be downloaded, or is
 * not supported by the endpoint
 */
async function withBytes(
  request: TurnRequest,
  images: readonly NamedImage[],
  scope: Scope,
  { endpoint, dialects, web }: EndpointKit & { readonly endpoint: Endpoint },
): Promise<TurnRequest> {
  const [tooMany] = images.slice(maxImages);
  if (tooMany)
    throw invalid(tooMany.path, `at most ${maxImages} images by URL are fetched for a provider that takes none`);
  const parts = new Map<unknown, object>();
  let bytes = 0;
  // Downloads are sequential, so each image's size counts before the next one begins.
  for (const image of images) {
    const fetched = await fetchOnce(image, scope, web);
    bytes += fetched.bytes;
    if (bytes > maxTotalBytes) throw invalid(image.path, "the images by URL are larger than 24 MiB together");
    parts.set(image.part, { ...image.part, image_url: fetched.data });
  }
  const outgoing = { ...request, input: replaceParts(request.input, parts) };
  // Only the downloaded bytes show an image's type, so the endpoint's support is checked again.
  const problem = dialects.refusal(endpoint, outgoing);
  if (problem) throw invalid(problem.path, problem.message);
  return outgoing;
}

async function fetchOnce(image: NamedImage, scope: Scope, web: EndpointKit["web"]): Promise<FetchedImage> {
  const known = scope.state.get(fetchedImages);
  let fetched = known.get(image.url);
  if (fetched === undefined) {
    fetched = web ? await fetchImage(image, scope, web) : { data: placeholder, bytes: 0 };
    known.set(image.url, fetched);
    const summary = web ? `Fetched: ${fetched.bytes} bytes` : "Not fetched: a dry run fetches no image";
    scope.trace.stages.push(stageOf(image, summary, web ? { bytes: fetched.bytes } : { action: "not_run" }));
  }
  return fetched;
}

async function fetchImage({ path, url }: NamedImage, { signal, held }: Scope, web: Downloads): Promise<FetchedImage> {
  try {
    const { body, type } = await web.download(url, signal);
    held.grow(copiesOfImage * body.length);
    const kind = imageTypeOf(body);
    if (kind === undefined) throw new PageUnreadable(`not an image that is known, but of type ${mediaTypeOf(type)}`);
    return { data: `data:image/${kind};base64,${body.toString("base64")}`, bytes: body.length };
  } catch (error) {
    if (!(error instanceof PageUnreadable)) throw error;
    throw invalid(`${path}.image_url`, `the image was not read: ${error.message}`);
  }
}

const mediaTypeOf = (header: string): string => /^[\w.+-]{1,100}\/[\w.+-]{1,100}/.exec(header)?.[0] ?? "unknown";

/** First bytes of each image type, which decide whatever type a server declares. */
const marks: readonly (readonly [type: string, mark: RegExp])[] = [
  ["png", /^\x89PNG\r\n/],
  ["jpeg", /^\xff\xd8\xff/],
  ["gif", /^GIF8[79]a/],
  ["webp", /^RIFF.{4}WEBP/s],
];

const imageTypeOf = (bytes: Buffer): string | undefined => {
  const head = bytes.toString("latin1", 0, 16);
  return marks.find(([, mark]) => mark.test(head))?.[0];
};

const stageOf = ({ path }: NamedImage, summary: string, data: object): Stage => ({
  type: "plugin",
  name: "image-download",
  summary,
  data: { path, ...data },
});
