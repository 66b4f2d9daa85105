/** The site on a server of plain files, as any host has one: every link of every page is answered. The build needs npm's registry. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PAGES } from '../../infra/site/pages.ts'
import { temporaryFolder } from '../support/candlepool.ts'
import { ROOT } from '../support/files.ts'
import { inSoak } from '../support/sample.ts'

const execute = promisify(execFile)

/** A file for a path, `index.html` for a folder, and nothing else. */
function startFileServer(folder: string): Promise<Server> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const path = normalize(decodeURIComponent(pathname.endsWith('/') ? `${pathname}index.html` : pathname))
    const content = await readFile(join(folder, path)).catch(() => undefined)
    const type = extname(path) === '.html' ? 'text/html' : 'application/octet-stream'
    response.writeHead(content ? 200 : 404, { 'Content-Type': type }).end(content)
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

describe('the site', inSoak, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let server: Server | undefined
  let unavailable: string | undefined

  beforeAll(async () => {
    folder = await temporaryFolder()
    const build = ['--import', 'tsx', 'infra/site/build.ts', '--out', folder.path]
    const failed = await execute(process.execPath, build, { cwd: ROOT }).then(
      () => '',
      (error: { stderr: string; message: string }) => `${error.message}\n${error.stderr}`,
    )
    if (/ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN/.test(failed)) unavailable = 'no registry of npm'
    else if (failed !== '') throw new Error(failed)
    else server = await startFileServer(folder.path)
  })
  afterAll(async () => {
    server?.close()
    await folder?.remove()
  })

  test('has no link that a plain file server does not answer, the anchors included', async ({ skip }) => {
    if (!server) return skip(unavailable)
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const pages = new Map<string, string>()
    const broken: string[] = []
    const open = ['/', '/llms.txt'].map((path) => ({ url: `${base}${path}`, from: 'the start' }))
    for (const { url, from } of open) {
      const [address = '', anchor] = url.split('#')
      if (!pages.has(address)) {
        const answer = await fetch(address)
        const isPage = answer.headers.get('content-type') === 'text/html'
        const text = isPage || /\.(?:md|txt)$/.test(address) ? await answer.text() : ''
        pages.set(address, text)
        if (answer.status !== 200) broken.push(`${from}: ${address} ${answer.status}`)
        const links = isPage ? /(?:href|src)="([^"]+)"/g : /\]\((\/[^)\s]+)\)/g
        for (const [, target = ''] of text.matchAll(links)) {
          const next = new URL(target.replaceAll('&amp;', '&'), address)
          if (next.origin === base) open.push({ url: next.href, from: address })
        }
      }
      const ids = pages.get(address) ?? ''
      if (anchor && ids.startsWith('<!') && !ids.includes(`id="${decodeURIComponent(anchor)}"`))
        broken.push(`${from}: ${url}`)
    }
    expect([...new Set(broken)]).toEqual([])
    expect([...pages.values()].filter((text) => text !== '').length).toBeGreaterThanOrEqual(PAGES.size)
  })
})
