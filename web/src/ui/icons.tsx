/** The few line icons the app uses, drawn on a 20 × 20 grid. */
import type { ReactNode } from "react";

type IconProps = { size?: number };

const icon = (drawing: ReactNode) =>
  function Icon({ size = 18 }: IconProps) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 20 20"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
      >
        {drawing}
      </svg>
    );
  };

export const OverviewIcon = icon(<path d="M3 16.500h14M5 13.500V9M10 13.500V4M15 13.500v-3" />);
export const TracesIcon = icon(<path d="M3 5h7M6 10h8M9 15h8M3 5v0M6 10v0" />);
export const CasesIcon = icon(
  <>
    <rect x="3.5" y="3.5" width="13" height="13" rx="2.5" />
    <path d="M7 8h6M7 12h3.5" />
  </>,
);
export const ReviewIcon = icon(<path d="m3.5 10.5 3.5 3.5 9.5-9.500M11 16.500h5.5" />);
export const DatasetsIcon = icon(
  <>
    <ellipse cx="10" cy="5" rx="6" ry="2.3" />
    <path d="M4 5v10c0 1.3 2.7 2.3 6 2.300s6-1 6-2.300V5M4 10c0 1.3 2.7 2.3 6 2.300s6-1 6-2.3" />
  </>,
);
export const BenchmarksIcon = icon(<path d="M3.5 13.500a6.5 6.5 0 1 1 13 0M10 13.500l3-4.500M3.5 16.500h13" />);
export const SettingsIcon = icon(
  <>
    <path d="M3 6h7M14 6h3M3 14h3M10 14h7" />
    <circle cx="12" cy="6" r="2" />
    <circle cx="8" cy="14" r="2" />
  </>,
);
export const SunIcon = icon(
  <>
    <circle cx="10" cy="10" r="3.2" />
    <path d="M10 2.500v1.500M10 16v1.500M2.5 10H4M16 10h1.500M4.7 4.700l1 1M14.3 14.300l1 1M4.7 15.300l1-1M14.3 5.700l1-1" />
  </>,
);
export const MoonIcon = icon(<path d="M16.5 11.800A6.8 6.8 0 0 1 8.2 3.500a6.8 6.8 0 1 0 8.3 8.300Z" />);
export const AutoIcon = icon(
  <>
    <circle cx="10" cy="10" r="6.5" />
    <path d="M10 3.500v13a6.5 6.5 0 0 0 0-13Z" fill="currentColor" stroke="none" />
  </>,
);
export const SearchIcon = icon(
  <>
    <circle cx="9" cy="9" r="5" />
    <path d="m13 13 3.5 3.5" />
  </>,
);
export const HelpIcon = icon(
  <>
    <circle cx="10" cy="10" r="7.5" />
    <path d="M7.8 7.800a2.300 2.300 0 1 1 3.400 2.000c-.8.450-1.200.9-1.200 1.700M10 14h0" />
  </>,
);
export const KeyboardIcon = icon(
  <>
    <rect x="2.5" y="5" width="15" height="10" rx="2" />
    <path d="M5.5 8.200h0M8.5 8.200h0M11.5 8.200h0M14.5 8.200h0M7 11.800h6" />
  </>,
);
export const CopyIcon = icon(
  <>
    <rect x="7" y="7" width="9.5" height="9.5" rx="2" />
    <path d="M4.5 13A1.5 1.5 0 0 1 3.5 11.500v-6a2 2 0 0 1 2-2h6A1.5 1.5 0 0 1 13 4.5" />
  </>,
);
export const CheckIcon = icon(<path d="m4.5 10.5 3.5 3.5 7.5-8" />);
export const CrossIcon = icon(<path d="m5.5 5.5 9 9M14.5 5.500l-9 9" />);
export const ChevronIcon = icon(<path d="m8 5.5 4.5 4.500L8 14.5" />);

export function Mark({ size = 26 }: IconProps) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <path
        d="M16 2.500c5.8 5 8.7 9.7 8.7 14.200A8.7 8.7 0 0 1 16 25.400a8.7 8.7 0 0 1-8.7-8.700c0-4.5 2.9-9.2 8.7-14.200Z"
        fill="var(--eg-gold)"
      />
      <path
        d="M16 11.500V30M16 20.500l4.6-4.400M16 17l-3.6-3.4"
        stroke="var(--eg-surface)"
        strokeWidth="1.9"
        strokeLinecap="round"
        fill="none"
      />
      <path d="M16 25.400V30" stroke="var(--eg-gold)" strokeWidth="1.9" strokeLinecap="round" />
    </svg>
  );
}

export function GripIcon({ size = 16 }: { size?: number }) {
  const dots = [5, 10, 15].flatMap((y) => [7, 13].map((x) => ({ x, y })));
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" fill="currentColor" aria-hidden="true">
      {dots.map(({ x, y }) => (
        <circle key={`${x} ${y}`} cx={x} cy={y} r="1.4" />
      ))}
    </svg>
  );
}
