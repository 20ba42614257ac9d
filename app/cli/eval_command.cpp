#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/eval_files.h"
#include "cli/perplexity.h"
#include "cli/picture_files.h"
#include "cli/printf_text.h"
#include "cli/text_input.h"
#include "cli/token_scores.h"
#include "cli/token_text.h"

#include "waste/engine.h"
#include "waste/session.h"
#include "waste/tokenizer.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t kDefaultRows = 10;
constexpr std::uint32_t kPrefillChunk = 64; // whatever the budget, so that results can be compared
constexpr std::uint32_t kPrefillChunkMax = 1024;

Result<std::shared_ptr<const Tokenizer>> tokenizerOf(const Container& container)
{
    return Tokenizer::open(container.path(), container.info().endOfTextId);
}

class EvalCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("eval MODEL [PROMPT] [OPTIONS]",
            "Prints what the model holds for the most probable next tokens: id, logit, probability, text. The text\n"
            "is read as it is, without a chat format.");
        declareModel(arguments, m_flags);
        arguments.positional(m_source.argument);
        arguments.group("Input");
        arguments.value("--file", "FILE", into(m_source.file), "read the text from a file (- is standard input)");
        arguments.value("--ids", "LIST", into(m_ids), "token ids in place of a text; @FILE reads them");
        declarePictureFlags(arguments, m_pictures, "with --ids: fills the placeholders; may be repeated");
        arguments.flag("--markup", m_markup, "recognise special tokens in the text");
        m_flags.options.prefillChunkTokens = kPrefillChunk;
        arguments
            .value("--chunk", "N", wholeNumberInto(m_flags.options.prefillChunkTokens, 1, kPrefillChunkMax),
                "tokens read at once; 1 is one after the other")
            .byDefault("64");
        arguments.group("Output");
        arguments.value("--top-k", "N", wholeNumberInto(m_rows, 0, ~0U), "how many tokens to print").byDefault("10");
        arguments.value("--logits", "FILE", into(m_logits), "write the last logits as raw f32");
        arguments.flag("--all-positions", m_allPositions, "with --logits: of every position");
        arguments.value("--dump-layers", "FILE", into(m_layers), "write norm and experts of each layer as JSON lines");
        arguments.group("Perplexity");
        arguments.value("--perplexity", "FILE", into(m_perplexity), "score a text, or questions with answers");
        arguments.value("--ids-file", "FILE", into(m_idsFile), "score token ids");
        arguments.value("--stride", "N", wholeNumberInto(m_stride, 1, ~0U), "tokens between two windows")
            .byDefault("the context");
        declareEngineFlags(arguments, m_flags);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        WASTE_TRY_STATUS(checkCombination());
        WASTE_TRY(const auto container, openContainer(m_flags));
        if (m_perplexity || m_idsFile)
            return runPerplexity(container, context);

        WASTE_TRY(const std::vector<TokenId> ids, inputIds(*container, context.output));
        if (ids.empty())
            return Error{ErrorCode::InvalidArgument, "", "there is nothing to evaluate: no tokens"};
        PictureFiles pictures(container, m_pictures.detail);
        for (const auto& file : m_pictures.files)
            WASTE_TRY_STATUS(pictures.addFile(file));
        WASTE_TRY_STATUS(planPictures(*container, pictures, m_flags));
        WASTE_TRY(const auto engine, openEngine(container, m_flags, context.output, context.cancel));
        WASTE_TRY(const auto session, engine->createSession());
        WASTE_TRY(const auto rows, pictures.encode(*engine, context.output, context.cancel));
        WASTE_TRY_STATUS(evaluate(*session, ids, rows, context));
        return printRows(*container, *session, ids.size(), context.output);
    }

private:
    [[nodiscard]] Status checkCombination() const
    {
        const auto wrong = [](std::string message) {
            return Error{ErrorCode::InvalidArgument, "", std::move(message)};
        };
        const bool hasText = m_source.argument || m_source.file;
        const int inputs = (m_ids ? 1 : 0) + (m_perplexity ? 1 : 0) + (m_idsFile ? 1 : 0) + (hasText ? 1 : 0);
        if (inputs > 1)
            return wrong("give one of: a text, --ids, --perplexity, --ids-file");
        if (!m_pictures.files.empty() && !m_ids)
            return wrong("--image needs --ids with the placeholders in place");
        if (m_allPositions && m_logits.empty())
            return wrong("--all-positions needs --logits FILE");
        if ((m_perplexity || m_idsFile) && (!m_logits.empty() || !m_layers.empty()))
            return wrong("--logits and --dump-layers do not go with --perplexity");
        if (m_stride > 0 && !m_perplexity && !m_idsFile)
            return wrong("--stride needs --perplexity or --ids-file");
        return {};
    }

    Result<std::vector<TokenId>> inputIds(const Container& container, Output& output) const
    {
        if (m_ids)
            return readIdList(*m_ids);
        WASTE_TRY(const auto tokenizer, tokenizerOf(container));
        WASTE_TRY(const std::string text, readText(m_source, "the text", output));
        std::vector<TokenId> ids;
        WASTE_TRY_STATUS(m_markup ? tokenizer->encodeMarkup(text, ids) : tokenizer->encodePlain(text, ids));
        return ids;
    }

    Status evaluate(Session& session, const std::vector<TokenId>& ids, std::span<const float> pictureRows,
        CommandContext& context) const
    {
        std::optional<EvalFile> logits;
        std::optional<EvalFile> layers;
        if (!m_logits.empty()) {
            WASTE_TRY(logits, EvalFile::create(m_logits));
        }
        if (!m_layers.empty()) {
            WASTE_TRY(layers, EvalFile::create(m_layers));
        }
        AppendOptions options;
        options.cancel = &context.cancel;
        options.pictureRows = pictureRows;
        options.progress = [&](std::uint64_t done, std::uint64_t total) {
            context.output.progress(std::to_string(done) + " of " + std::to_string(total) + " tokens");
        };
        if (m_allPositions)
            options.logitsSink = [&](std::uint64_t, std::span<const float> row) { logits->writeLogits(row); };
        if (layers)
            options.layerSink = [&](const LayerTrace& trace) { layers->writeLayer(trace); };
        WASTE_TRY_STATUS(session.append(ids, options));
        context.output.endProgress();
        if (logits && !m_allPositions)
            logits->writeLogits(session.logits());
        if (logits)
            WASTE_TRY_STATUS(logits->finish());
        if (layers)
            WASTE_TRY_STATUS(layers->finish());
        return {};
    }

    Result<int> printRows(
        const Container& container, const Session& session, std::size_t promptTokens, Output& output) const
    {
        std::shared_ptr<const Tokenizer> tokenizer; // a model without one has ids only
        if (container.info().hasTokenizer) {
            WASTE_TRY(tokenizer, tokenizerOf(container));
        }
        WASTE_TRY_STATUS(checkLogits(session.logits()));
        const auto best = bestTokens(session.logits(), m_rows > 0 ? m_rows : kDefaultRows);
        if (!output.isJson()) {
            // Not on standard output, whose lines are rows and nothing else (spec: cli A.3).
            output.plain(printfText("%8s %10s %8s  %s\n", "id", "logit", "prob", "text"));
            for (const TokenScore& row : best) {
                const auto piece = tokenizer ? tokenizer->piece(row.id) : Result<std::string_view>("");
                output.text(printfText("%8d %10.4f %8.4f  %s\n", row.id, row.logit, std::exp(row.logProbability),
                    piece && tokenizer ? jsonString(*piece).c_str() : ""));
            }
            return 0;
        }
        ordered_json rows = ordered_json::array();
        for (const TokenScore& row : best) {
            ordered_json object = {
                {"id", row.id}, {"logit", nineDigits(row.logit)}, {"prob", nineDigits(std::exp(row.logProbability))}};
            if (const auto piece = tokenizer ? tokenizer->piece(row.id) : Result<std::string_view>(Error{}))
                addText(object, "piece", *piece);
            object["logprob"] = nineDigits(row.logProbability);
            rows.push_back(std::move(object));
        }
        output.json({{"prompt_tokens", promptTokens}, {"vocab", session.logits().size()}, {"top", std::move(rows)}});
        return 0;
    }

    Result<int> runPerplexity(const std::shared_ptr<const Container>& container, CommandContext& context) const
    {
        WASTE_TRY(const std::string text, readInput(m_perplexity ? *m_perplexity : *m_idsFile));
        std::optional<std::vector<AnsweredPrompt>> prompts;
        std::vector<TokenId> ids;
        if (m_idsFile) {
            WASTE_TRY(ids, parseIdList(text));
        } else {
            WASTE_TRY(prompts, parseAnsweredPrompts(text));
        }
        if (m_perplexity && !prompts) {
            WASTE_TRY(const auto tokenizer, tokenizerOf(*container));
            WASTE_TRY_STATUS(tokenizer->encodePlain(text, ids));
        }
        WASTE_TRY(const auto engine, openEngine(container, m_flags, context.output, context.cancel));
        WASTE_TRY(const auto session, engine->createSession());
        const PerplexityRun run{*session, container->info().vocabularySize, context.cancel, context.output};
        WASTE_TRY(const Perplexity result, prompts ? scoreAnswers(run, *prompts) : scoreText(run, ids, m_stride));
        printPerplexity(result, prompts.has_value(), context.output);
        return 0;
    }

    static void printPerplexity(const Perplexity& result, bool hasAnswers, Output& output)
    {
        output.endProgress();
        if (output.isJson()) {
            ordered_json object = {{"tokens", result.tokens}, {"nll", result.nll}, {"perplexity", result.value()}};
            if (hasAnswers) {
                object["answers"] = result.answers;
                object["exact_answers"] = result.exactAnswers;
            }
            output.json(object);
            return;
        }
        output.text(printfText("%-14s%llu\n%-14s%.4f\n%-14s%.6f\n", "tokens",
            static_cast<unsigned long long>(result.tokens), "nll", result.nll, "perplexity", result.value()));
        if (hasAnswers)
            output.text(printfText("%-14s%llu of %llu\n", "exact answers",
                static_cast<unsigned long long>(result.exactAnswers), static_cast<unsigned long long>(result.answers)));
    }

    EngineFlags m_flags;
    TextSource m_source;
    std::optional<std::string> m_ids;
    PictureFlags m_pictures;
    std::filesystem::path m_logits; // empty: not wanted
    std::filesystem::path m_layers;
    std::optional<std::string> m_perplexity;
    std::optional<std::string> m_idsFile;
    std::uint32_t m_rows = 0;
    std::uint32_t m_stride = 0;
    bool m_markup = false;
    bool m_allPositions = false;
};

} // namespace

std::unique_ptr<Command> makeEvalCommand()
{
    return std::make_unique<EvalCommand>();
}

} // namespace waste::cli
