/** Light, dark, or as the system says; one button walks through the three. */
import { type MantineColorScheme, useMantineColorScheme } from "@mantine/core";
import { AutoIcon, MoonIcon, SunIcon } from "@/ui/icons";

const NEXT: Record<MantineColorScheme, MantineColorScheme> = { auto: "light", light: "dark", dark: "auto" };
const LABEL: Record<MantineColorScheme, string> = { auto: "System", light: "Light", dark: "Dark" };
const ICON = { auto: AutoIcon, light: SunIcon, dark: MoonIcon };

export function ColorSchemeToggle({ className }: { className?: string }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Icon = ICON[colorScheme];
  return (
    <button
      type="button"
      className={className}
      onClick={() => setColorScheme(NEXT[colorScheme])}
      aria-label={`Colours: ${LABEL[colorScheme]}. Change to ${LABEL[NEXT[colorScheme]]}`}
    >
      <Icon />
      <span>{LABEL[colorScheme]}</span>
    </button>
  );
}
