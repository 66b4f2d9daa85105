/** VitePress's configuration. `build.ts` copies it, with the pages, to where VitePress is installed. A link to a page that is not there fails the build. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SECTIONS } from './pages.ts'

/** This file is in a folder beside them by then. */
const PAGES = join(import.meta.dirname, '..', 'pages')
const CLIENTS: Readonly<Record<string, string>> = { python: 'Python client', typescript: 'TypeScript client' }
const titleOf = (page: string) => /^# (.+)$/m.exec(readFileSync(join(PAGES, `${page}.md`), 'utf8'))?.[1] ?? page

export default {
  title: 'Candlepool',
  description: 'Self-hosted market data of Uniswap v3 and v4 pools',
  srcDir: 'pages',
  outDir: 'output',
  // A plain static server has a file for each address.
  cleanUrls: false,
  themeConfig: {
    search: { provider: 'local' },
    nav: [{ text: 'API reference', link: '/reference.html', target: '_self' }],
    sidebar: Object.entries(SECTIONS).map(([text, pages]) => ({
      text,
      items: Object.keys(pages).map((page) => ({
        text: CLIENTS[page] ?? titleOf(page),
        link: page === 'index' ? '/' : `/${page}`,
      })),
    })),
    outline: [2, 3],
  },
}
