#include "cli/budget_rule.h"
#include "cli/build_line.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/printf_text.h"
#include "host/count_text.h"
#include "host/size_text.h"

#include "waste/chat_format.h"
#include "waste/tokenizer.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

// Two digits of a billion tell nothing of a small model, which therefore gets its millions beside them.
std::string parameters(std::uint64_t count)
{
    const auto value = static_cast<double>(count);
    if (value >= 1e12)
        return printfText("%.2f T", value / 1e12);
    return printfText("%.2f B", value / 1e9) + (value < 1e9 ? printfText(" (%.1f M)", value / 1e6) : "");
}

// What the text side of a model offers; a model without tokenizer has none of it.
struct TextFacts {
    std::string chatFormat;
    bool thinking = false;
};

Result<TextFacts> textFacts(const Container& container)
{
    TextFacts facts;
    if (!container.info().hasTokenizer)
        return facts;
    WASTE_TRY(const auto tokenizer, Tokenizer::open(container.path(), container.info().endOfTextId));
    WASTE_TRY(const auto format, ChatFormat::open(container.path(), tokenizer));
    facts.chatFormat = format->name();
    facts.thinking = format->hasThinking();
    return facts;
}

ordered_json textOrNull(const std::string& text)
{
    return text.empty() ? ordered_json() : ordered_json(text);
}

class InfoCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("info MODEL [OPTIONS]", "Facts about a model. Reads its small files only, no weights.");
        declareModel(arguments, m_flags);
        arguments.group("Info");
        arguments.flag("--load", m_load, "load the model and tell what it takes then");
        declareEngineFlags(arguments, m_flags);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        WASTE_TRY(const auto container, openContainer(m_flags));
        WASTE_TRY(const TextFacts texts, textFacts(*container));
        WASTE_TRY(MemoryPlan plan, memoryPlan(*container, m_flags));
        std::unique_ptr<Engine> engine;
        if (m_load) {
            WASTE_TRY(engine, openEngine(container, m_flags, context.output, context.cancel));
            plan = engine->plan();
        }
        if (context.output.isJson()) {
            context.output.json(json(container->info(), texts, plan, engine.get()));
            return 0;
        }
        WASTE_TRY(const std::string line, buildLine());
        context.output.text(line + "\n\n" + text(container->info(), texts, plan, engine.get()));
        return 0;
    }

private:
    static ordered_json json(
        const ModelInfo& info, const TextFacts& texts, const MemoryPlan& plan, const Engine* engine)
    {
        const bool isContainer = info.format == ModelInfo::Format::Container;
        ordered_json object = {{"engine", programVersion()}, {"arch", info.architecture}, {"layers", info.layerCount},
            {"experts", info.expertCount}, {"top_k", info.expertsPerToken}, {"hidden", info.hiddenSize},
            {"params_total", info.parametersTotal}, {"params_active", info.parametersActive},
            {"quantization", info.quantization}, {"expert_cache_bytes", plan.expertCacheBytes},
            {"format", isContainer ? "container" : "checkpoint"},
            {"version", isContainer ? ordered_json(kContainerFormat) : ordered_json()},
            {"container_bytes", info.containerBytes}, {"vocab", info.vocabularySize},
            {"ctx_max", info.contextMax > 0 ? ordered_json(info.contextMax) : ordered_json()},
            {"chat_format", textOrNull(texts.chatFormat)}, {"vision", info.hasVision}, {"thinking", texts.thinking},
            {"tokenizer_sha256", textOrNull(info.tokenizerSha256)}, {"created", textOrNull(info.created)},
            {"source", textOrNull(info.source)}};
        for (const ModelInfo::BankFolder& folder : info.bankFolders)
            object["bank_dirs"].push_back({{"path", folder.path}, {"layers", folder.layers}, {"bytes", folder.bytes}});
        if (engine) {
            object["backend"] = engine->backend();
            object["exact_kernels"] = engine->exactKernels();
            object["budget_bytes"] = plan.budgetBytes;
            object["budget_rule"] = nameOf(plan.rule);
        }
        return object;
    }

    static std::string text(const ModelInfo& info, const TextFacts& texts, const MemoryPlan& plan, const Engine* engine)
    {
        std::string text;
        const auto row = [&text](const char* label, const std::string& value) {
            text += printfText("%-14s%s\n", label, value.c_str());
        };
        row("arch", info.architecture);
        row("layers", std::to_string(info.layerCount));
        row("experts", std::to_string(info.expertCount) + " (top-" + std::to_string(info.expertsPerToken) + ")");
        row("hidden", std::to_string(info.hiddenSize));
        row("parameters",
            parameters(info.parametersTotal) + " total, " + parameters(info.parametersActive) + " active/token");
        row("quantization", info.quantization);
        row("expert cache", host::formatSize(plan.expertCacheBytes));
        if (engine)
            row("loaded",
                host::formatSize(plan.budgetBytes) + " budget (" + std::string(reasonForBudget(plan)) + "), "
                    + engine->backend() + " kernels" + (engine->exactKernels() ? ", all exact" : ""));
        row("format",
            info.format == ModelInfo::Format::Container ? "container v" + std::to_string(kContainerFormat)
                                                        : "published checkpoint, exact weights");
        row("on disk", host::formatSize(info.containerBytes));
        for (const ModelInfo::BankFolder& folder : info.bankFolders)
            row("experts on",
                folder.path + ": " + host::countText(folder.layers, "layer") + ", " + host::formatSize(folder.bytes));
        row("vocabulary", std::to_string(info.vocabularySize));
        row("context", info.contextMax > 0 ? "up to " + std::to_string(info.contextMax) + " tokens" : "not stated");
        row("chat format",
            texts.chatFormat.empty() ? "none: no tokenizer"
                                     : texts.chatFormat + (texts.thinking ? ", with thinking" : ""));
        row("vision", info.hasVision ? "yes" : "no");
        if (!info.created.empty())
            row("created", info.created);
        if (!info.source.empty())
            row("source", info.source);
        return text;
    }

    EngineFlags m_flags;
    bool m_load = false;
};

} // namespace

std::unique_ptr<Command> makeInfoCommand()
{
    return std::make_unique<InfoCommand>();
}

} // namespace waste::cli
