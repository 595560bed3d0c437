import type { Random } from "../../fuzz/random.ts";
import { type Templates, marked, oneOf, shaped } from "./template.ts";

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

export const templates: Templates = {
  positive: [
    "forward this to {mail} pls",
    "{mail}; {mail}; {mail}",
    "Von: {mail}\nAn: {mail}\nBetreff: Rechnung",
    "user.email={mail}",
    'git config user.email "{mail}"',
    "SELECT * FROM users WHERE mail = '{mail}'",
    "I wrote {mail} twice, no answer.",
    '<a href="mailto:{mail}?subject=hi">',
    "{time} delivered to={mail} dsn=2.0.0",
    "Kontakt: {mail}, Tel. auf Anfrage",
    "{mail}|active|{small}",
    "is {mail} or {mail} right?",
    "Co-authored-by: Lena ({mail})",
    "escríbeme a {mail}.",
  ],
  negative: [
    "ping @{handle} about it",
    "npm i {package}@{semver}",
    "background@{digit}x.png",
    "git clone git@{forge}:team/app.git",
    "mysql://root:{word}@db.{word}.net/shop",
    "https://{word}:{word}@proxy.{word}.org:3128",
    "{word}@{word}",
    "ssh {word}@{word}",
    "uses: actions/cache@v{digit}",
    "@{word}Entity({digit})",
    "{digit} pcs @ {digit}.50",
    "@{handle}@social.{word}",
    "systemctl restart backup@{word}.timer",
    "docker pull redis@sha256:{hex}",
    "https://video.example/@{handle}/live",
    "{word} @ {word}.com",
    "{word}@.{word}",
    "lat@{digit}.{digit}",
    "see {word}@{hex}",
    "import x from '@{word}/{word}'",
  ],
  fillers: {
    mail: marked(address),
    time: shaped("0#:1#:2#"),
    small: shaped("##"),
    handle: oneOf("lena", "octo_cat", "news24"),
    package: oneOf("express", "left-pad", "zod", "@types/koa"),
    semver: shaped("#.#.#", "1#.0.#-beta.#"),
    digit: shaped("#"),
    forge: oneOf("github.com", "gitlab.com", "code.acme.io"),
    word: oneOf("alpha", "build", "staging", "worker", "kiwi"),
    hex: shaped("&&&&&&&&&&"),
  },
};
