#include "cli/bench_run.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/printf_text.h"
#include "cli/route_file.h"
#include "host/size_text.h"

#include "waste/tokenizer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kPrompt =
    "Write a C function that parses a JSON array of integers and explain its edge cases.";
constexpr std::uint32_t kTokensMax = 1 << 20;
constexpr std::uint32_t kRoundsMax = 1000;

// What all rounds together say.
struct Summary {
    std::uint32_t roundCount = 0;
    BenchRound total; // sums
    Spread prefill; // tokens a second
    Spread decode;

    static Summary of(const std::vector<BenchRound>& rounds)
    {
        Summary summary;
        summary.roundCount = static_cast<std::uint32_t>(rounds.size());
        std::vector<double> prefill;
        std::vector<double> decode;
        for (const BenchRound& round : rounds) {
            prefill.push_back(round.prefillRate());
            decode.push_back(round.decodeRate());
            summary.add(round);
        }
        summary.prefill = spreadOf(std::move(prefill));
        summary.decode = spreadOf(std::move(decode));
        return summary;
    }

    [[nodiscard]] double hitRate() const
    {
        const std::uint64_t accesses = total.expertHits + total.expertMisses;
        return accesses > 0 ? static_cast<double>(total.expertHits) / static_cast<double>(accesses) : 0;
    }
    [[nodiscard]] double bytesPerToken() const
    {
        return static_cast<double>(total.decodeBytesRead)
            / static_cast<double>(std::max<std::uint64_t>(total.decodedTokens, 1));
    }
    [[nodiscard]] double msPerToken() const { return decode.median > 0 ? 1000 / decode.median : 0; }
    [[nodiscard]] double diskRate() const // bytes a second while the disk worked
    {
        return total.diskBusySeconds > 0 ? static_cast<double>(total.bytesRead) / total.diskBusySeconds : 0;
    }
    [[nodiscard]] double totalSeconds() const { return total.prefillSeconds + total.decodeSeconds; }

private:
    void add(const BenchRound& round)
    {
        total.promptTokens += round.promptTokens;
        total.decodedTokens += round.decodedTokens;
        total.prefillSeconds += round.prefillSeconds;
        total.decodeSeconds += round.decodeSeconds;
        total.expertHits += round.expertHits;
        total.expertMisses += round.expertMisses;
        total.guessesIssued += round.guessesIssued;
        total.guessesUseful += round.guessesUseful;
        total.decodeBytesRead += round.decodeBytesRead;
        total.bytesRead += round.bytesRead;
        total.readWaitSeconds += round.readWaitSeconds;
        total.diskBusySeconds += round.diskBusySeconds;
        total.computeSeconds += round.computeSeconds;
    }
};

// The rounds that were finished; where the first one was cut short, what there is of it. Of a later one that was cut
// nothing is kept, because only whole rounds can be compared.
struct Measurement {
    std::vector<BenchRound> rounds;
    Status ended; // an error: why there are no more rounds
    Status recorded; // an error: why the routes are in no file
};

class BenchCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments(
            "bench MODEL [OPTIONS]", "Measures a model on this machine: reads a fixed prompt, then writes tokens.");
        declareModel(arguments, m_flags);
        arguments.group("Bench");
        arguments
            .value("--prompt-tokens", "N", wholeNumberInto(m_promptTokens, 1, kTokensMax),
                "length of the prompt, which is repeated or cut")
            .byDefault("as it is");
        arguments.value("--max-tokens", "N", wholeNumberInto(m_tokenCount, 1, kTokensMax), "tokens to write")
            .alias("-n")
            .byDefault("64");
        arguments.value("--repeat", "R", wholeNumberInto(m_roundCount, 1, kRoundsMax), "rounds to measure")
            .byDefault("1");
        arguments.flag("--warmup", m_warmUp, "one more round in front, not measured");
        arguments.value("--record-routes", "FILE", into(m_routeFile),
            "write the experts of every token of the first round, one JSON object a line");
        declareEngineFlags(arguments, m_flags);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        WASTE_TRY(const auto container, openContainer(m_flags));
        WASTE_TRY(const std::vector<TokenId> prompt, promptFor(*container));
        if (prompt.size() + m_tokenCount > m_flags.options.contextTokens)
            return Error{ErrorCode::InvalidArgument, "context_length_exceeded",
                std::to_string(prompt.size()) + " tokens of prompt and " + std::to_string(m_tokenCount)
                    + " to write do not fit a context of " + std::to_string(m_flags.options.contextTokens)
                    + "; raise --ctx"};
        if (!m_routeFile.empty())
            WASTE_TRY_STATUS(RouteFile::tryWriting(m_routeFile));
        WASTE_TRY(const auto engine, openEngine(container, m_flags, context.output, context.cancel));
        WASTE_TRY(const auto session, engine->createSession());
        const Measurement measured = measure(*engine, *session, prompt, context);
        context.output.endProgress();
        if (!measured.rounds.empty()) {
            const Summary summary = Summary::of(measured.rounds);
            if (context.output.isJson())
                context.output.json(json(summary, *engine, !measured.ended));
            else
                context.output.text(text(summary, *engine));
        }
        if (!measured.ended)
            return whyEnded(measured);
        WASTE_TRY_STATUS(measured.recorded);
        return 0;
    }

private:
    Result<std::vector<TokenId>> promptFor(const Container& container) const
    {
        WASTE_TRY(const auto tokenizer, Tokenizer::open(container.path(), container.info().endOfTextId));
        std::vector<TokenId> sentence;
        WASTE_TRY_STATUS(tokenizer->encodePlain(kPrompt, sentence));
        std::vector<TokenId> prompt(m_promptTokens > 0 ? m_promptTokens : sentence.size());
        for (std::size_t i = 0; i < prompt.size(); ++i)
            prompt[i] = sentence[i % sentence.size()];
        return prompt;
    }

    Measurement measure(
        const Engine& engine, Session& session, const std::vector<TokenId>& prompt, CommandContext& context) const
    {
        BenchOptions options{.prompt = prompt, .tokenCount = m_tokenCount, .layerSink = {}, .cancel = &context.cancel};
        Measurement measured;
        if (m_warmUp) {
            context.output.progress("warming up");
            if (auto round = runBenchRound(engine, session, options); !round) {
                measured.ended = std::move(round.error());
                return measured;
            }
        }
        for (std::uint32_t i = 0; i < m_roundCount; ++i) {
            context.output.progress("round " + std::to_string(i + 1) + " of " + std::to_string(m_roundCount));
            RouteFile routes;
            const bool records = i == 0 && !m_routeFile.empty();
            if (records)
                options.layerSink = [&routes](const LayerTrace& trace) { routes.add(trace); };
            auto round = runBenchRound(engine, session, options);
            if (!round) {
                measured.ended = std::move(round.error());
                break;
            }
            if (records)
                measured.recorded = routes.write(m_routeFile);
            options.layerSink = {};
            if (round->isWhole || measured.rounds.empty())
                measured.rounds.push_back(*round);
            if (!round->isWhole) {
                measured.ended = Error{ErrorCode::Cancelled, "", {}};
                break;
            }
        }
        return measured;
    }

    Error whyEnded(const Measurement& measured) const
    {
        const std::vector<BenchRound>& rounds = measured.rounds;
        if (measured.ended.error().code != ErrorCode::Cancelled)
            return measured.ended.error();
        if (rounds.empty())
            return {ErrorCode::Cancelled, "", "stopped before the first token; nothing was measured"};
        const std::string done = rounds.back().isWhole
            ? std::to_string(rounds.size()) + " of " + std::to_string(m_roundCount) + " rounds"
            : std::to_string(rounds.back().decodedTokens) + " of " + std::to_string(m_tokenCount) + " tokens";
        return {ErrorCode::Cancelled, "", "stopped after " + done + "; the figures are those of what was finished"};
    }

    ordered_json json(const Summary& summary, const Engine& engine, bool isStopped) const
    {
        const BenchRound& total = summary.total;
        return {{"tokens", total.decodedTokens}, {"tok_per_s", summary.decode.median},
            {"experts_hit", total.expertHits}, {"experts_hit_by_guess", total.guessesUseful},
            {"experts_missed", total.expertMisses}, {"guesses_read", total.guessesIssued},
            {"bytes_read", total.decodeBytesRead}, {"direct_io", engine.statistics().directIo},
            {"prompt_tokens", total.promptTokens / summary.roundCount}, {"prefill_tok_per_s", summary.prefill.median},
            {"prefill_tok_per_s_min", summary.prefill.least}, {"prefill_tok_per_s_max", summary.prefill.most},
            {"decode_tok_per_s", summary.decode.median}, {"decode_tok_per_s_min", summary.decode.least},
            {"decode_tok_per_s_max", summary.decode.most}, {"ms_per_token", summary.msPerToken()},
            {"hit_rate", summary.hitRate()}, {"bytes_per_token", summary.bytesPerToken()},
            {"disk_bytes_per_s", summary.diskRate()}, {"repeat", summary.roundCount}, {"stopped", isStopped},
            {"budget_bytes", engine.plan().budgetBytes}, {"expert_cache_bytes", engine.plan().expertCacheBytes},
            {"io_seconds", total.readWaitSeconds}, {"disk_busy_seconds", total.diskBusySeconds},
            {"compute_seconds", total.computeSeconds}, {"total_seconds", summary.totalSeconds()},
            {"backend", engine.backend()}, {"exact_kernels", engine.exactKernels()}};
    }

    std::string text(const Summary& summary, const Engine& engine) const
    {
        const BenchRound& total = summary.total;
        const auto rateRow = [&summary](const char* label, std::uint64_t tokens, const Spread& spread) {
            std::string line = printfText("%-9s %6llu tokens  %9.2f tok/s  %9.1f ms/token", label,
                static_cast<unsigned long long>(tokens / summary.roundCount), spread.median,
                spread.median > 0 ? 1000 / spread.median : 0.0);
            if (summary.roundCount > 1)
                line +=
                    printfText("   (%.2f to %.2f tok/s in %u rounds)", spread.least, spread.most, summary.roundCount);
            return line + "\n";
        };
        const auto share = [&summary](double seconds) {
            return summary.totalSeconds() > 0 ? 100 * seconds / summary.totalSeconds() : 0.0;
        };
        std::string text = rateRow("prefill", total.promptTokens, summary.prefill);
        text += rateRow("decode", total.decodedTokens, summary.decode);
        text += printfText(
            "experts   %.1f %% found in the cache (%llu of %llu while decoding; a guess had brought %llu of them)\n",
            100 * summary.hitRate(), static_cast<unsigned long long>(total.expertHits),
            static_cast<unsigned long long>(total.expertHits) + total.expertMisses,
            static_cast<unsigned long long>(total.guessesUseful));
        text += "disk      " + host::formatAmount(summary.bytesPerToken()) + "/token, "
            + host::formatAmount(static_cast<double>(total.bytesRead)) + " in all at "
            + host::formatAmount(summary.diskRate()) + "/s";
        text += engine.statistics().directIo ? "\n" : "; the page cache is not bypassed, so some of it was RAM\n";
        text += printfText("time      %.1f %% waiting for reads, %.1f %% computing; the disk was busy %.1f %%\n",
            share(total.readWaitSeconds), share(total.computeSeconds), share(total.diskBusySeconds));
        return text;
    }

    EngineFlags m_flags;
    std::uint32_t m_promptTokens = 0; // 0: the sentence as it is
    std::uint32_t m_tokenCount = 64;
    std::uint32_t m_roundCount = 1;
    bool m_warmUp = false;
    std::filesystem::path m_routeFile;
};

} // namespace

std::unique_ptr<Command> makeBenchCommand()
{
    return std::make_unique<BenchCommand>();
}

} // namespace waste::cli
