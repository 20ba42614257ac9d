#include "support/damage.h"

#include "container/error_reasons.h"

#include <fstream>

namespace waste::test {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string readFile(const fs::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    std::error_code isMissing;
    const auto size = fs::file_size(path, isMissing);
    std::string content(isMissing ? 0 : size, '\0');
    stream.read(content.data(), static_cast<std::streamsize>(content.size()));
    return content;
}

bool writeFile(const fs::path& path, const std::string& content)
{
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream.write(content.data(), static_cast<std::streamsize>(content.size()));
    return static_cast<bool>(stream.flush());
}

std::string bytesFromHex(const std::string& hex)
{
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

void unset(Json& root, const Json::json_pointer& pointer)
{
    Json& parent = root[pointer.parent_pointer()];
    if (parent.is_array())
        parent.erase(std::stoul(pointer.back()));
    else
        parent.erase(pointer.back());
}

bool editManifest(const Json& operation, const fs::path& file)
{
    Json manifest = Json::parse(readFile(file));
    const Json::json_pointer pointer(operation["pointer"].get<std::string>());
    if (operation["op"] == "unset")
        unset(manifest, pointer);
    else
        manifest[pointer] = operation["value"];
    return writeFile(file, manifest.dump());
}

bool apply(const Json& operation, const fs::path& directory)
{
    const auto kind = operation["op"].get<std::string>();
    if (kind == "set" || kind == "unset")
        return editManifest(operation, directory / "manifest.json");

    const fs::path file = directory / operation["file"].get<std::string>();
    if (kind == "remove")
        return fs::remove(file);
    std::string content = kind == "write" ? std::string() : readFile(file);
    if (kind == "write") {
        content = operation.contains("hex") ? bytesFromHex(operation["hex"]) : operation["text"].get<std::string>();
    } else if (kind == "resize") {
        const std::string fill = operation.contains("fill") ? bytesFromHex(operation["fill"]) : std::string(1, '\0');
        content.resize(operation["bytes"].get<std::size_t>(), fill.front());
    } else if (kind == "bytes") {
        const std::string bytes = bytesFromHex(operation["hex"]);
        content.replace(operation["offset"].get<std::size_t>(), bytes.size(), bytes);
    } else {
        return false;
    }
    return writeFile(file, content);
}

DamageCase::Stage stageFromName(const std::string& name)
{
    if (name == "open")
        return DamageCase::Stage::Open;
    if (name == "read")
        return DamageCase::Stage::Read;
    return name == "verify" ? DamageCase::Stage::Verify : DamageCase::Stage::Evaluate;
}

} // namespace

std::vector<DamageCase> damageCases()
{
    const Json root = Json::parse(readFile(fs::path(WASTE_TEST_DATA) / "containers" / "damage.json"), nullptr, false);
    std::vector<DamageCase> cases;
    if (root.is_discarded())
        return cases;
    for (const Json& entry : root["cases"]) {
        DamageCase damage;
        damage.row = entry["row"];
        damage.name = entry["case"];
        damage.container = entry["container"];
        damage.operations = entry["do"];
        damage.stage = stageFromName(entry["when"]);
        if (entry["error"].is_string())
            damage.errors = {entry["error"].get<std::string>()};
        else if (entry["error"].is_array())
            damage.errors = entry["error"].get<std::vector<std::string>>();
        damage.mentions = entry.value("mentions", "");
        damage.ids = entry.value("ids", std::vector<std::int32_t>());
        damage.sameLogits = entry.value("same_logits", false);
        damage.matrix = entry.value("matrix", Json());
        cases.push_back(std::move(damage));
    }
    return cases;
}

fs::path goldenContainer(std::string_view name)
{
    return fs::path(WASTE_TEST_DATA) / "containers" / (std::string(name) + ".waste");
}

bool copyGolden(std::string_view name, const fs::path& directory)
{
    fs::create_directories(directory);
    for (const auto& entry : fs::directory_iterator(goldenContainer(name)))
        if (!writeFile(directory / entry.path().filename(), readFile(entry.path())))
            return false;
    return true;
}

bool makeDamaged(const DamageCase& damage, const fs::path& directory)
{
    if (!copyGolden(damage.container, directory))
        return false;
    for (const Json& operation : damage.operations)
        if (!apply(operation, directory))
            return false;
    return true;
}

std::string errorClass(const Error& error)
{
    switch (error.code) {
    case ErrorCode::Io:
    case ErrorCode::NotFound:
        return "IO";
    case ErrorCode::Corrupt:
        return reason::isIo(error.reason) ? "IO" : "FORMAT";
    case ErrorCode::Unsupported:
        return error.reason == reason::kContainerVersion ? "FORMAT" : "UNSUPPORTED";
    case ErrorCode::InvalidArgument:
        return "ARG";
    default:
        return "code " + std::to_string(static_cast<int>(error.code));
    }
}

} // namespace waste::test
