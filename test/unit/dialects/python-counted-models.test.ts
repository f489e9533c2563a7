import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { ReadContext } from '../../../server/src/dialects/dialect';
import { checkpointWeights } from '../../../server/src/model/checkpoint-weights';
import { factOf, read } from './reading';

const IMPORTS = `import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForQuestionAnswering, AutoModelForSequenceClassification
from transformers import Trainer, TrainingArguments, pipeline
from speechbrain.inference import EncoderClassifier
`;
const MODEL = 'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")\n';
const SQUAD = 'distilbert-base-cased-distilled-squad';

interface Beside {
  readonly parameters: number;
  readonly bufferBytes: number;
  readonly dtype: string;
  readonly later: boolean;
}

interface Given {
  readonly before?: string;
  readonly after?: string;
  readonly end?: string;
  readonly transformers?: string;
  readonly known?: ReadContext['known'];
}

/** What lies beside the training: counted by name, and what is reported as not counted. */
function beside({ before = '', after = '', end = '', transformers = '5.0.0', known = {} }: Given) {
  const reading = read(
    'python',
    'file:///w/train.py',
    `${IMPORTS}${before}\n${MODEL}${after}\ntrainer = Trainer(model, TrainingArguments("o"))\ntrainer.train()\n${end}\n`,
    known,
    { transformers: { version: transformers, source: 'stated' } },
  );
  const value = factOf(reading, 'method.otherModels')?.value;
  const counted = (value ?? {}) as Readonly<Record<string, Beside>>;
  const left = (reading.unread ?? []).filter(({ message }) => /another model/.test(message)).length;
  return { counted, left };
}

describe('models of known size that lie on the GPU beside a training', () => {
  before(loadPython);

  it('are counted with the type that they are loaded in', () => {
    const squad = (more: string, transformers: string) =>
      beside({
        before: `other = AutoModelForQuestionAnswering.from_pretrained("${SQUAD}"${more}`,
        transformers,
      }).counted[SQUAD];
    assert.deepEqual(squad(').to("cuda")', '4.50.0'), {
      parameters: 65_192_450,
      bufferBytes: 4096,
      dtype: 'fp32',
      later: false,
    });
    assert.equal(squad(', torch_dtype=torch.float16).cuda()', '4.50.0')?.dtype, 'fp16');
    assert.equal(squad(').to("cuda").half()', '4.50.0')?.dtype, 'fp16');
    assert.equal(squad(').to("cuda", torch.bfloat16)', '4.50.0')?.dtype, 'bf16');
    const llama = (more: string, transformers: string) =>
      beside({ before: `other = AutoModelForCausalLM.from_pretrained("gpt2-xl"${more})`, transformers });
    assert.equal(llama(', device_map="auto"', '4.50.0').counted['gpt2-xl']?.dtype, 'fp32');
    // On the host it takes nothing of the GPU.
    assert.deepEqual(llama('', '5.0.0'), { counted: {}, left: 0 });
  });

  it('are those of classes of other packages, once they are moved there', () => {
    const codec = (more: string, name = 'hubertsiuzdak/snac_24khz') =>
      beside({ before: `from snac import SNAC\ncodec = SNAC.from_pretrained("${name}")${more}` });
    const there = { parameters: 19_842_914, bufferBytes: 0, dtype: 'fp32', later: false };
    for (const more of ['.to("cuda")', '.eval().cuda()', '\ncodec = codec.to("cuda")'])
      assert.deepEqual(codec(more), { counted: { 'hubertsiuzdak/snac_24khz': there }, left: 0 }, more);
    assert.deepEqual(codec('.cuda()', 'someone/codec'), { counted: {}, left: 1 });
    for (const more of ['', '.cuda()\ncodec.to("cpu")'])
      assert.deepEqual(codec(more), { counted: {}, left: 0 });
    // What reads texts or images holds none, whatever is passed to it.
    const reads = 'from transformers import AutoProcessor, AutoTokenizer\n';
    for (const call of [
      'AutoProcessor.from_pretrained("gpt2", device_map="auto")',
      'AutoTokenizer.from_pretrained("gpt2")("text", return_tensors="pt").to("cuda")',
    ])
      assert.deepEqual(beside({ before: `${reads}other = ${call}` }), { counted: {}, left: 0 }, call);
  });

  it('are those of pipelines, by the release', () => {
    const whisper = (more: string, transformers: string) =>
      beside({
        before: `pipe = pipeline("automatic-speech-recognition", model="openai/whisper-large-v3"${more})`,
        transformers,
      });
    const dtype = (more: string, transformers: string) =>
      whisper(more, transformers).counted['openai/whisper-large-v3']?.dtype;
    assert.equal(dtype('', '4.53.0'), 'fp16');
    assert.equal(dtype('', '4.52.4'), 'fp32');
    assert.equal(dtype(', torch_dtype="auto"', '4.52.4'), 'fp16');
    assert.equal(dtype(', dtype=torch.bfloat16', '5.0.0'), 'bf16');
    assert.equal(dtype(', device=0', '4.46.3'), 'fp32');
    assert.deepEqual(whisper('', '4.46.3'), { counted: {}, left: 0 });
    // What loads it in another way leaves its size open.
    assert.deepEqual(whisper(', model_kwargs=more()', '5.0.0'), { counted: {}, left: 1 });
  });

  it('are those of a task without a model', () => {
    assert.deepEqual(Object.keys(beside({ before: 'p = pipeline("sentiment-analysis")' }).counted), [
      'distilbert/distilbert-base-uncased-finetuned-sst-2-english',
    ]);
    assert.equal(
      beside({ before: 'p = pipeline("translation_en_to_fr")' }).counted['google-t5/t5-base']?.parameters,
      222_903_552,
    );
    assert.deepEqual(beside({ before: 'p = pipeline("table-question-answering")' }), {
      counted: {},
      left: 1,
    });
  });

  it('are counted from where they are made to where nothing holds them', () => {
    const pipe = 'p = pipeline("sentiment-analysis")';
    const of = (given: Given) => Object.values(beside(given).counted).map(({ later }) => later);
    assert.deepEqual(of({ before: pipe }), [false]);
    assert.deepEqual(of({ after: pipe }), [true]);
    assert.deepEqual(of({ end: pipe }), []);
    assert.deepEqual(of({ before: `${pipe}\ndel p` }), []);
    assert.deepEqual(of({ before: `${pipe}\np = pipeline("ner", device=-1)` }), []);
    assert.deepEqual(of({ before: `${pipe}\nkept = [p]\ndel p` }), [false]);
    // What a model answers with holds its weights by the graph alone.
    const other = `model = AutoModel.from_pretrained("${SQUAD}").to("cuda")`;
    assert.deepEqual(of({ before: `${other}\nwith torch.no_grad():\n    outputs = model(**inputs)` }), []);
    assert.deepEqual(of({ before: `${other}\noutputs = model(**inputs)` }), [false]);
    assert.deepEqual(
      Object.keys(beside({ before: `${pipe}\nq = pipeline("sentiment-analysis")` }).counted).length,
      2,
    );
    // The model that is trained is no other.
    assert.deepEqual(beside({ after: 'p = pipeline("text-generation", model=model)' }), {
      counted: {},
      left: 0,
    });
  });

  it('are gone with the function whose names held them', () => {
    const made = (body: string, use: string) =>
      beside({ before: `def score(texts):\n    p = pipeline("sentiment-analysis")\n${body}\n${use}` });
    const gone = { counted: {}, left: 0 };
    assert.deepEqual(made('    return p(texts)', 'scores = score(["a"])'), gone);
    assert.deepEqual(made('    for one in texts:\n        print(p(one))', 'score(["a"])'), gone);
    // Given back, kept elsewhere, or seen by a function that is given back.
    for (const [body, use] of [
      ['    return p', 'kept = score(["a"])'],
      ['    kept.append(p)', 'kept = []\nscore(["a"])'],
      ['    global kept\n    kept = p', 'score(["a"])'],
      ['    texts.p = p', 'class Held: pass\nheld = Held()\nscore(held)'],
      ['    def one(text):\n        return p(text)\n    return one', 'kept = score(["a"])'],
      ['    return lambda text: p(text)', 'kept = score(["a"])'],
    ] as const) {
      const { counted, left } = made(body, use);
      assert.equal(Object.keys(counted).length + left, 1, body);
    }
    // A model that a function is given is not its own.
    assert.equal(
      Object.keys(
        beside({ before: 'p = pipeline("sentiment-analysis")\ndef use(q):\n    return q("a")\nuse(p)' })
          .counted,
      ).length,
      1,
    );
  });

  it('are not counted where something about them is open', () => {
    const load = (text: string, known?: ReadContext['known']) =>
      beside({ before: text, ...(known ? { known } : {}) });
    const other = `other = AutoModelForQuestionAnswering.from_pretrained("${SQUAD}"`;
    for (const text of [
      `if who():\n    ${other}).cuda()`,
      `${other}, load_in_4bit=True)`,
      `${other}).cuda()\nother.resize_token_embeddings(7)`,
      `${other}).cuda()\noptimizer = torch.optim.AdamW(other.parameters())`,
      'other = AutoModelForCausalLM.from_pretrained("acme/mine").cuda()',
      // The head of a language model is left out, and another comes in its place.
      'other = AutoModelForSequenceClassification.from_pretrained("meta-llama/Llama-2-7b-hf").cuda()',
    ])
      assert.deepEqual(load(text), { counted: {}, left: 1 }, text);
    // Several processes may put theirs on one GPU.
    assert.deepEqual(load(`${other}).cuda()`, { 'hardware.gpus': 4 }), { counted: {}, left: 1 });
  });

  it('are those of SpeechBrain, where `run_opts` put them there', () => {
    const speaker = 's = EncoderClassifier.from_hparams(source="speechbrain/spkrec-xvect-voxceleb"';
    const { counted } = beside({ before: `${speaker}, run_opts={"device": "cuda"})` });
    assert.equal(counted['speechbrain/spkrec-xvect-voxceleb']?.parameters, 8_172_473);
    assert.deepEqual(beside({ before: `${speaker})` }), { counted: {}, left: 0 });
  });

  it('have their sizes by any of their names, of the catalog or of a list', () => {
    assert.equal(checkpointWeights('SUNO/bark-small')?.parameters, 404_696_346);
    assert.equal(checkpointWeights('Helsinki-NLP/opus-mt-en-fr')?.parameters, 75_133_952);
    assert.equal(checkpointWeights('bert-base-uncased')?.headless, true);
    // Its two files have 6,444,683,944 bytes: four for each parameter, and what they begin with.
    assert.equal(checkpointWeights('nari-labs/Dia-1.6B-0626')?.parameters, 1_611_160_576);
    // Copies that are quantized take something else.
    assert.equal(checkpointWeights('TheBloke/Llama-2-7B-GPTQ'), undefined);
    assert.equal(checkpointWeights('acme/mine'), undefined);
  });
});
