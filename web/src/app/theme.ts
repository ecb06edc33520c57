/** Evergold's look: warm paper, ink, and one gold accent. System fonts only; nothing is fetched from elsewhere. */
import { createTheme, type MantineColorsTuple, rem } from "@mantine/core";

const gold: MantineColorsTuple = [
  "#fdf8ea",
  "#f8edcb",
  "#f0dc9d",
  "#e7c869",
  "#dfb642",
  "#d0a02a",
  "#b5861c",
  "#926a17",
  "#725216",
  "#553d14",
];

/** Warm greys: the same hue as the paper, so that borders and text belong to it. */
const stone: MantineColorsTuple = [
  "#faf9f6",
  "#f3f1ec",
  "#e7e4dc",
  "#d5d1c6",
  "#b3aea1",
  "#8d887b",
  "#6b675c",
  "#504c44",
  "#35322c",
  "#1f1d19",
];

const ink: MantineColorsTuple = [
  "#e9e6df",
  "#c6c2b8",
  "#a09b90",
  "#7b766c",
  "#4b4740",
  "#35322d",
  "#28251f",
  "#1d1b17",
  "#161411",
  "#0f0e0c",
];

const rust: MantineColorsTuple = [
  "#fdf1ed",
  "#f9dfd7",
  "#f0bfb0",
  "#e69c86",
  "#dc7c60",
  "#cc5f41",
  "#b34c30",
  "#913c26",
  "#722f1f",
  "#542419",
];

const sea: MantineColorsTuple = [
  "#ecf6f6",
  "#d6ebec",
  "#aed7d9",
  "#83c0c4",
  "#5aa8ae",
  "#3a8f96",
  "#2b777e",
  "#225f65",
  "#1c4a4f",
  "#15373b",
];

const leaf: MantineColorsTuple = [
  "#f1f7ee",
  "#dfedd8",
  "#c0dbb3",
  "#9fc88c",
  "#7fb468",
  "#629c4b",
  "#4c803a",
  "#3d672f",
  "#314f27",
  "#253b1e",
];

/** Every dialog can be closed by a button with a name. */
const named = { defaultProps: { closeButtonProps: { "aria-label": "Close" } } };

/** The list of a field scrolls itself, so that no frame around it does which the keyboard does not reach. */
const listed = {
  defaultProps: { withScrollArea: false, styles: { options: { maxHeight: rem(260), overflowY: "auto" } } },
} as const;

export const theme = createTheme({
  components: {
    Modal: named,
    Drawer: named,
    // The first item has the focus, not an empty element before it that is no item of the menu.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Select: listed,
    MultiSelect: listed,
    Autocomplete: listed,
    TagsInput: listed,
  },
  colors: { gold, gray: stone, dark: ink, rust, sea, leaf },
  primaryColor: "gold",
  primaryShade: { light: 7, dark: 5 },
  autoContrast: true,
  luminanceThreshold: 0.36,
  black: "#1f1d19",
  fontFamily:
    '-apple-system, "Segoe UI Variable Text", "Segoe UI", Roboto, Cantarell, "Noto Sans", "Liberation Sans", system-ui, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace',
  headings: {
    fontFamily:
      '"Iowan Old Style", "Palatino Linotype", "Book Antiqua", Palatino, Charter, "Noto Serif", "Liberation Serif", Georgia, serif',
    fontWeight: "500",
    sizes: {
      h1: { fontSize: rem(30), lineHeight: "1.15" },
      h2: { fontSize: rem(21), lineHeight: "1.25" },
      h3: { fontSize: rem(17), lineHeight: "1.3" },
    },
  },
  defaultRadius: "md",
  radius: { xs: rem(3), sm: rem(5), md: rem(8), lg: rem(12), xl: rem(20) },
  cursorType: "pointer",
  respectReducedMotion: true,
});
