/**
 * A text written in markdown, laid out. Loaded late. HTML in the text stays text, links open only by a click and say where
 * they lead, and a picture is fetched only after a click: what a trace holds is not ours to trust.
 */
import { lazy, Suspense, useState } from "react";
import ReactMarkdown, { type Components, type Options } from "react-markdown";
import remarkGfm from "remark-gfm";
import classes from "./Messages.module.css";

const SAFE_LINK = /^(https?:|mailto:)/i;

const PARTS: Components = {
  a: ({ href, children }) =>
    href && SAFE_LINK.test(href) ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  img: ({ src, alt }) => <Picture address={typeof src === "string" ? src : ""} alt={alt ?? ""} />,
};

export function Picture({ address, alt }: { address: string; alt: string }) {
  const [shown, setShown] = useState(false);
  if (shown) return <img className={classes.picture} src={address} alt={alt} referrerPolicy="no-referrer" />;
  const where = address.startsWith("data:") ? "in this record" : address.slice(0, 120);
  return (
    <button type="button" className={classes.showPicture} onClick={() => setShown(true)}>
      Show picture{alt && ` “${alt}”`} ({where})
    </button>
  );
}

type LaidProps = { text: string; plugins?: Options["rehypePlugins"] };

function Laid({ text, plugins }: LaidProps) {
  return (
    <div className={classes.markdown} dir="auto">
      <ReactMarkdown
        components={PARTS}
        remarkPlugins={[remarkGfm]}
        rehypePlugins={plugins}
        urlTransform={(address) => address}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}

/** The colours of code are as large as all the rest: they come with the first text that has a block of it. */
const Coloured = lazy(async () => {
  const { default: highlight } = await import("rehype-highlight");
  const plugins: LaidProps["plugins"] = [[highlight, { detect: false, ignoreMissing: true }]];
  return { default: ({ text }: { text: string }) => <Laid text={text} plugins={plugins} /> };
});
const CODE = /^\s*(```|~~~)/m;

export default function Markdown({ text }: { text: string }) {
  if (!CODE.test(text)) return <Laid text={text} />;
  return (
    <Suspense fallback={<Laid text={text} />}>
      <Coloured text={text} />
    </Suspense>
  );
}
