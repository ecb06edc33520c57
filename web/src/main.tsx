import "@mantine/core/styles.css";
import "@/app/global.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { TokenDialog } from "@/api/access";
import { queryClient } from "@/api/client";
import { router } from "@/app/router";
import { theme } from "@/app/theme";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root element");

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <TokenDialog />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
