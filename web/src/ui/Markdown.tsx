/**
 * A text written in markdown, laid out. Loaded late. HTML in the text stays text, links open only by a click and say where
 * they lead, and a picture is fetched only after a click: what a trace holds is not ours to trust.
 */
import { useState } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeHighlight from "rehype-highlight";
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

export default function Markdown({ text }: { text: string }) {
  return (
    <div className={classes.markdown} dir="auto">
      <ReactMarkdown
        components={PARTS}
        remarkPlugins={[remarkGfm]}
        rehypePlugins={[[rehypeHighlight, { detect: false, ignoreMissing: true }]]}
        urlTransform={(address) => address}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}
