/**
 * `npm run site`: the documents as a static site in `dist/site`. VitePress is installed in a folder of its own: the service does not need it.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { ADDED_APIS } from '../../api/extras/added-api.ts'
import { referencePage } from '../../api/extras/docs/page.ts'
import { openApi } from '../../api/schema/openapi.ts'
import { commandLine, type Help, optionsOf } from '../process/help.ts'
import { PAGES, SECTIONS } from './pages.ts'

const HERE = import.meta.dirname
const ROOT = join(HERE, '../..')
const FOLDER = join(ROOT, 'node_modules/.cache/site')

const HELP: Help = {
  does: 'Builds the documents as a static site with a search, in dist/site, and checks its links. Any server of files serves it.',
  usage: ['npm run site [-- --repository URL] [--out FOLDER]'],
  options: [
    ['--repository', 'where links to sources lead; they are plain text without it'],
    ['--out FOLDER', 'in the place of dist/site'],
  ],
  examples: ['npm run site -- --repository https://github.com/owner/candlepool'],
}

const { repository, out = join(ROOT, 'dist/site') } = commandLine(HELP, () =>
  optionsOf(HELP, { repository: { type: 'string' }, out: { type: 'string' } }),
)
const pages = join(FOLDER, 'pages')
const titles = new Map<string, string>()
const document = openApi(...ADDED_APIS)
await rm(pages, { recursive: true, force: true })
await mkdir(join(pages, 'public/v0'), { recursive: true })
for (const [path, page] of PAGES) {
  const text = withLinks(await readFile(join(ROOT, path), 'utf8'), path)
  await writeFile(join(pages, `${page}.md`), text)
  // For models, which read no HTML.
  await writeFile(join(pages, 'public', `${page}.md`), text.replace(/\]\(\/([a-z]+)(?=[#)])/g, '](/$1.md'))
  titles.set(page, /^# (.+)$/m.exec(text)?.[1] ?? page)
}
await writeFile(join(pages, 'public/llms.txt'), index())
await cp(join(ROOT, '.github/page.png'), join(pages, 'public/page.png'))
await writeFile(join(pages, 'public/reference.html'), referencePage(document, new Date()).html)
await writeFile(join(pages, 'public/v0/openapi.json'), JSON.stringify(document))
for (const name of ['config.ts', 'pages.ts']) await cp(join(HERE, name), join(FOLDER, '.vitepress', name))
for (const name of ['package.json', 'package-lock.json']) await cp(join(HERE, name), join(FOLDER, name))
execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: FOLDER, stdio: 'inherit' })
execFileSync('npm', ['run', 'build'], { cwd: FOLDER, stdio: 'inherit' })
await rm(out, { recursive: true, force: true })
await cp(join(FOLDER, 'output'), out, { recursive: true })

/** `llms.txt`: the documents as Markdown, by section. */
function index(): string {
  const sections = Object.entries(SECTIONS).map(([section, documents]) => {
    const lines = Object.keys(documents).map((page) => `- [${titles.get(page)}](/${page}.md)`)
    return [`## ${section}`, '', ...lines, ''].join('\n')
  })
  const summary = 'Self-hosted market data of Uniswap v3, v4 and forks. A running service has its own /llms.txt.'
  return [`# Candlepool`, '', `> ${summary}`, '', ...sections].join('\n')
}

/** Links between documents lead to their pages, all others into the repository. */
function withLinks(text: string, path: string): string {
  return text.replace(
    /(!?)\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g,
    (link, image, label: string, target: string) => {
      if (/^(?:https?:|mailto:|#)/.test(target)) return link
      const [file = '', anchor] = target.split('#')
      const named = posix.join(posix.dirname(path), file)
      if (image) return `![${label}](/${posix.basename(named)})`
      const page = PAGES.get(named) ?? PAGES.get(posix.join(named, 'README.md'))
      if (page) return `[${label}](/${page === 'index' ? '' : page}${anchor ? `#${anchor}` : ''})`
      if (!existsSync(join(ROOT, named))) throw new Error(`${path} links to ${target}, which is not there.`)
      return repository === undefined ? label : `[${label}](${repository}/blob/main/${named})`
    },
  )
}
