#include "cli/token_text.h"

#include "cli/engine_flags.h"

#include <nlohmann/json.hpp>

namespace waste::cli {

using nlohmann::ordered_json;

Result<std::shared_ptr<const Tokenizer>> openTokenizer(const EngineFlags& flags)
{
    WASTE_TRY(const auto container, openContainer(flags));
    return Tokenizer::open(container->path(), container->info().endOfTextId);
}

void addText(ordered_json& object, const char* key, std::string_view bytes)
{
    object[key] = toWellFormedText(bytes);
    if (isWellFormedText(bytes))
        return;
    object["bytes"] = ordered_json::array();
    for (const char byte : bytes)
        object["bytes"].push_back(static_cast<unsigned char>(byte));
}

std::string jsonString(std::string_view bytes)
{
    return ordered_json(toWellFormedText(bytes)).dump();
}

} // namespace waste::cli
