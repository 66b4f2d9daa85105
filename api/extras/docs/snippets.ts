/** One question in each of three languages. `BASE` and `KEY` are set once, by the snippets of `SETUP`. */

export const LANGUAGES = ['curl', 'JavaScript', 'Python'] as const
export type Language = (typeof LANGUAGES)[number]
export type Snippets = Readonly<Record<Language, string>>

export const DEFAULT_BASE = 'http://127.0.0.1:3000'

/** `BASE` is the service, without a path: every address is `BASE/v0/…`. */
export const SETUP: Snippets = {
  curl: `BASE=${DEFAULT_BASE}\nKEY=cp_…`,
  JavaScript: `const BASE = '${DEFAULT_BASE}'\nconst KEY = 'cp_…'`,
  Python: `import json, urllib.parse, urllib.request\n\nBASE = '${DEFAULT_BASE}'\nKEY = 'cp_…'`,
}

/** `request` is a path with a query, such as `/v0/pools?symbol=WETH-USDC`. */
export function snippetsOf(request: string, needsKey: boolean): Snippets {
  const { pathname, searchParams } = new URL(request, DEFAULT_BASE)
  const parameters = [...searchParams]
  return {
    curl: curl(pathname, parameters, needsKey),
    JavaScript: javaScript(pathname, parameters, needsKey),
    Python: python(pathname, parameters, needsKey),
  }
}

type SnippetParameters = readonly (readonly [name: string, value: string])[]

function curl(path: string, parameters: SnippetParameters, needsKey: boolean): string {
  return [
    `curl -sG "$BASE${path}"`,
    ...(needsKey ? ['-H "X-API-KEY: $KEY"'] : []),
    ...parameters.map(([name, value]) => `-d ${name}=${value}`),
  ].join(' \\\n  ')
}

function javaScript(path: string, parameters: SnippetParameters, needsKey: boolean): string {
  const query = parameters.map(([name, value]) => `  ${name}: '${value}',\n`).join('')
  const address = `\`\${BASE}${path}${query === '' ? '' : `?\${query}`}\``
  const headers = needsKey ? `\n  { headers: { 'X-API-KEY': KEY } },` : ''
  return [
    ...(query === '' ? [] : [`const query = new URLSearchParams({\n${query}})`]),
    `const answer = await fetch(\n  ${address},${headers}\n)`,
    'console.log(await answer.json())',
  ].join('\n')
}

function python(path: string, parameters: SnippetParameters, needsKey: boolean): string {
  const query = parameters.map(([name, value]) => `    '${name}': '${value}',\n`).join('')
  const address = `f'{BASE}${path}${query === '' ? '' : '?{query}'}'`
  const headers = needsKey ? `,\n    headers={'X-API-KEY': KEY},\n` : ',\n'
  return [
    ...(query === '' ? [] : [`query = urllib.parse.urlencode({\n${query}})`]),
    `request = urllib.request.Request(\n    ${address}${headers})`,
    'with urllib.request.urlopen(request) as answer:\n    print(json.load(answer))',
  ].join('\n')
}
