import type { Random } from "../../../support/random.ts";
import { type Templates, labelledText, pickOne, fillShape } from "./template.ts";

const first = [
  "lena",
  "tom",
  "p.schulz",
  "maria_k",
  "x9",
  "oleg-77",
  "info",
  "a.b.c",
  "d'angelo",
  "r2+d2",
  "MAX",
  "josé",
];
const host = ["acme", "post", "mail.acme", "uni-wien", "k8s.corp", "my-shop", "firma24", "ACME", "sub.sub.host"];
const end = ["com", "org", "de", "co.uk", "io", "fr", "com.br", "dev", "info", "cloud", "NET", "app"];

const address = (chance: Random): string => `${chance.pick(first)}@${chance.pick(host)}.${chance.pick(end)}`;

export const emailTemplates: Templates = {
  positive: [
    "the invite goes to {mail} and {mail}",
    "Bcc: {mail}",
    "reply_to: '{mail}'",
    "unsubscribe {mail} now!",
    "contact={mail}&lang=en",
    "mutt -s hello {mail} < body",
    "(ask {mail})",
    "INFO sent welcome mail to {mail} in {small} ms",
    "{mail}\n{mail}\n{mail}",
    "meine Adresse: {mail}.",
    '"{mail}": {"role": "admin"}',
    "is it {mail}? or {mail}?",
    "Author: Kim <{mail}>",
    "mail {mail}, or call",
  ],
  negative: [
    "thanks @{handle}!",
    "yarn add {package}@{semver}",
    "assets/logo@{digit}x.png",
    "origin git@{forge}:{word}/{word}.git (fetch)",
    "amqp://{word}:{word}@mq.{word}.net:5672/",
    "ftp://{word}:{word}@files.{word}.org/x",
    "scp file {word}@{word}:",
    "{handle}@{word}",
    "- uses: docker/build-push-action@v{digit}",
    "@{word}()\ndef f(): pass",
    "sold {digit} @ {digit}.99 each",
    "follow @{handle}@{word}.social",
    "journalctl -u app@{digit}.service",
    "ghcr.io/x/y@sha256:{hex}",
    "https://chat.example/@{handle}",
    "regex: [^@]+@[^@]+",
    "{word}@",
    "@{word}.{word}",
    "blend {word}@{digit}%",
    "vector @ matrix",
    "{word}@{semver}",
    "type Foo = Bar@{digit}",
  ],
  fillers: {
    mail: labelledText(address),
    time: fillShape("0#:1#:2#"),
    small: fillShape("##"),
    handle: pickOne("lena", "octo_cat", "news24"),
    package: pickOne("express", "left-pad", "zod", "@types/koa"),
    semver: fillShape("#.#.#", "1#.0.#-beta.#"),
    digit: fillShape("#"),
    forge: pickOne("github.com", "gitlab.com", "code.acme.io"),
    word: pickOne("alpha", "build", "staging", "worker", "kiwi"),
    hex: fillShape("&&&&&&&&&&"),
  },
};
