/** What a page says, apart from everything around it; done in a thread of its own, since a page can be made to take as long and as much as it likes. */
import { parentPort } from "node:worker_threads";
import { Readability, isProbablyReaderable } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import { textOf } from "./charset.ts";
import { type PageNode, markdownOf } from "./markdown.ts";

export interface Unparsed {
  readonly html: Uint8Array;
  /** Content-type of the answer. */
  readonly type: string;
  readonly url: string;
}

export interface Parsed {
  /** Empty when it has none. */
  readonly title: string;
  /** Markdown. */
  readonly text: string;
}

/** UTF-16 units: in longer pages no article is looked for, which takes twice as long as all the rest. */
const longestSearched = 400_000;

function readableOf({ html, type, url }: Unparsed): Parsed {
  const source = framed(textOf(html, type));
  const page = parseHTML(source).document as unknown as PageDocument;
  const title = tidy(page.querySelector("title")?.textContent);
  if (source.length <= longestSearched && isProbablyReaderable(page)) {
    const article = new Readability<PageNode>(page, { serializer: (node: PageNode) => node }).parse();
    const text = article?.content ? markdownOf(article.content, url) : "";
    if (text !== "") return { title: tidy(article?.title) || title, text };
    // The search for an article has taken it apart.
    return { title, text: markdownOf((parseHTML(source).document as unknown as PageDocument).body, url) };
  }
  return { title, text: markdownOf(page.body, url) };
}

interface PageDocument {
  readonly body: PageNode;
  querySelector(selector: string): PageNode | null;
}

/** Pages may leave out the tags that every page has, which this parser does not add. */
const framed = (source: string): string =>
  `<html><body>${source.replaceAll(/<\/?(?:html|head|body)(?:\s[^>]*)?>|<!doctype[^>]*>/gi, "")}</body></html>`;

const tidy = (title: string | null | undefined): string => (title ?? "").replaceAll(/\s+/g, " ").trim();

parentPort?.on("message", (unparsed: Unparsed) => {
  try {
    parentPort?.postMessage(readableOf(unparsed));
  } catch {
    // Nested deeper than there is room for, and the like.
    parentPort?.postMessage(undefined);
  }
});

// From now on a page is all that it takes time for.
parentPort?.postMessage(undefined);
