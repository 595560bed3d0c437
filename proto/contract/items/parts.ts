/** Parts of messages and reasoning, with annotations on their text, in answers and in later inputs. */
import {
  anyValue,
  array,
  described,
  integer,
  map,
  named,
  nullable,
  number,
  object,
  string,
  tagged,
  word,
} from "../../lib/validation/shape.ts";

const index = integer({ min: 0 });
const start = described(
  index,
  "First character that the annotation is about, counted from 0 in the final text of its part.",
);
const end = described(index, "The character after the last one.");

const urlCitation = object(
  {
    type: word("url_citation"),
    url: described(string(), "Address of the source."),
    title: described(string(), "Title of the source; empty when it is not known."),
    start_index: start,
    end_index: end,
    content: described(string(), "Excerpt of the source, when the search engine gives one."),
  },
  {
    required: ["type", "url", "title", "start_index", "end_index"],
    description: "A passage that rests on a web page.",
  },
);

const fileCitation = object(
  {
    type: word("file_citation"),
    file_id: described(string(), "Identifier of the file."),
    filename: described(string(), "Name of the file."),
    index: described(index, "Position of the file in the list of files."),
  },
  { required: ["type", "file_id", "filename", "index"], description: "A passage that rests on a file." },
);

export const filePath = object(
  {
    type: word("file_path"),
    file_id: described(string(), "Identifier of the file."),
    index: described(index, "Position of the file in the list of files."),
  },
  { required: ["type", "file_id", "index"], description: "A file that the text refers to." },
);

export const containerFileCitation = object(
  {
    type: word("container_file_citation"),
    container_id: described(string(), "Container in which the file is."),
    file_id: described(string(), "Identifier of the file."),
    filename: described(string(), "Name of the file."),
    start_index: start,
    end_index: end,
  },
  {
    required: ["type", "container_id", "file_id", "filename", "start_index", "end_index"],
    description: "A file in the container of a tool.",
  },
);

export const annotation = named(
  "Annotation",
  tagged("type", {
    url_citation: named("UrlCitation", urlCitation),
    file_citation: named("FileCitation", fileCitation),
    file_path: named("FilePath", filePath),
    container_file_citation: named("ContainerFileCitation", containerFileCitation),
  }),
);

const token = {
  token: described(string(), "The token as text."),
  logprob: described(number(), "Natural logarithm of its probability."),
  bytes: described(nullable(array(integer({ min: 0, max: 255 }))), "The token as UTF-8."),
};

export const logprob = named(
  "Logprob",
  object(
    {
      ...token,
      top_logprobs: described(
        array(object(token, { required: ["token", "logprob"] })),
        "The likeliest tokens at this place, as many as `top_logprobs` of the request asked for.",
      ),
    },
    { required: ["token", "logprob"], description: "How probable a token was, and what stood beside it." },
  ),
);

export const outputText = object(
  {
    type: word("output_text"),
    text: described(string(), "The text."),
    annotations: described(array(annotation), "What passages of the text rest on."),
    logprobs: described(array(logprob), "Probabilities of the tokens; empty unless asked for and given."),
  },
  { required: ["type", "text", "annotations"], description: "Text of the model." },
);

export const refusalPart = object(
  { type: word("refusal"), refusal: described(string(), "Why the model declines, in its own words.") },
  { required: ["type", "refusal"], description: "The model declines to answer." },
);

export const reasoningText = object(
  { type: word("reasoning_text"), text: described(string(), "Reasoning as the model wrote it.") },
  { required: ["type", "text"], description: "Raw reasoning." },
);

export const summaryText = object(
  { type: word("summary_text"), text: described(string(), "Summary of reasoning.") },
  { required: ["type", "text"], description: "A summary of reasoning." },
);

/** Types of parts: of a message, of raw reasoning, and of a reasoning summary. */
export const parts = {
  outputText: named("OutputText", outputText),
  refusal: named("Refusal", refusalPart),
  reasoningText: named("ReasoningText", reasoningText),
  summaryText: named("SummaryText", summaryText),
} as const;

/** Parts of a message from the model. */
export const messageParts = array(tagged("type", { output_text: parts.outputText, refusal: parts.refusal }));

/** An object with fields defined by the tool. */
export const openObject = map(anyValue);
