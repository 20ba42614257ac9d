#pragma once

#include "waste/container.h"
#include "waste/engine.h"
#include "waste/session.h"

#include <QtCore/QFile>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>
#include <QtTest/QtTest>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Models, prompts and short ways through the facade for the tests of this folder.
namespace waste::test {

// K3-mini as published (exact weights), kl-mini as published, and the golden containers.
inline std::filesystem::path modelPath(const std::string& name)
{
    if (name == "k3-mini")
        return WASTE_K3_MINI_CHECKPOINT;
    const std::filesystem::path data = WASTE_TEST_DATA;
    return name == "kl-mini" ? data / "kl-mini" : data / "containers" / (name + ".waste");
}

// Opened once a program: opening a checkpoint reads 1,244 tensor names.
inline std::shared_ptr<const Container> openModel(const std::string& name)
{
    static std::map<std::string, std::shared_ptr<const Container>> opened;
    std::shared_ptr<const Container>& model = opened[name];
    if (model == nullptr) {
        Result<std::shared_ptr<const Container>> result = Container::open(modelPath(name));
        if (!result)
            qFatal("%s", result.error().message.c_str());
        model = std::move(*result);
    }
    return model;
}

struct TestOptions {
    std::uint64_t budgetBytes = 0;
    std::uint32_t contextTokens = 512;
    std::uint32_t threadCount = 1;
    std::uint32_t chunkTokens = 64;
    std::uint32_t conversationCount = 1;
    VisionUse vision = VisionUse::Never;
    bool exact = false;
};

inline std::unique_ptr<Engine> openEngine(const std::shared_ptr<const Container>& model, const TestOptions& test = {})
{
    EngineOptions options;
    options.budgetBytes = test.budgetBytes;
    options.contextTokens = test.contextTokens;
    options.threadCount = test.threadCount;
    options.prefillChunkTokens = test.chunkTokens;
    options.conversationCount = test.conversationCount;
    options.vision = test.vision;
    options.exact = test.exact;
    Result<std::unique_ptr<Engine>> engine = Engine::open(model, options);
    if (!engine)
        qFatal("%s", engine.error().message.c_str());
    return std::move(*engine);
}

inline std::unique_ptr<Session> openSession(Engine& engine)
{
    Result<std::unique_ptr<Session>> session = engine.createSession();
    if (!session)
        qFatal("%s", session.error().message.c_str());
    return std::move(*session);
}

inline std::vector<TokenId> idsFromJson(const QJsonArray& array)
{
    std::vector<TokenId> ids;
    for (const auto& value : array)
        ids.push_back(value.toInt());
    return ids;
}

inline QJsonObject readJson(const std::filesystem::path& path)
{
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly))
        qFatal("cannot read %s", path.string().c_str());
    return QJsonDocument::fromJson(file.readAll()).object();
}

// A prompt with the reference's answer to it.
struct GoldenPrompt {
    std::string name;
    std::vector<TokenId> ids;
    std::vector<TokenId> greedy;
    std::filesystem::path logitsFile; // after the last id
    QJsonObject json;
};

// Of K3-mini, those without pictures.
inline std::vector<GoldenPrompt> textPrompts()
{
    const std::filesystem::path folder = std::filesystem::path(WASTE_TEST_DATA) / "k3-mini";
    std::vector<GoldenPrompt> prompts;
    for (const auto& value : readJson(folder / "prompts.json")["prompts"].toArray()) {
        const QJsonObject prompt = value.toObject();
        if (prompt["images"].toArray().isEmpty()) {
            prompts.push_back({prompt["name"].toString().toStdString(), idsFromJson(prompt["ids"].toArray()),
                idsFromJson(prompt["greedy"].toArray()), folder / prompt["logits_file"].toString().toStdString(),
                prompt});
        }
    }
    return prompts;
}

// What a model can be told: K3-mini's first text prompts, the golden ids of the others.
inline std::vector<TokenId> samplePrompt(const std::string& model)
{
    const std::filesystem::path data = WASTE_TEST_DATA;
    if (model == "k3-mini")
        return textPrompts().front().ids;
    if (model == "kl-mini")
        return idsFromJson(
            readJson(data / "kl-mini" / "golden.json")["prompts"].toArray()[0].toObject()["ids"].toArray());
    return idsFromJson(readJson(data / "containers" / (model + ".json"))["ids"].toArray());
}

inline std::vector<float> copyLogits(const Session& session)
{
    return {session.logits().begin(), session.logits().end()};
}

inline bool sameBits(std::span<const float> a, std::span<const float> b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// The ids that generate() reports; an error ends the test program's row through the empty answer.
inline std::vector<TokenId> generateIds(
    Session& session, const GenerateOptions& options, GenerateResult* result = nullptr)
{
    std::vector<TokenId> ids;
    const Result<GenerateResult> generated = session.generate(options, [&ids](const TokenEvent& event) {
        ids.push_back(event.id);
        return TokenAction::Continue;
    });
    if (!generated) {
        qWarning("%s", generated.error().message.c_str());
        return {};
    }
    if (result != nullptr)
        *result = *generated;
    return ids;
}

// For QVERIFY2: the message of an error, if there is one.
template<typename T>
QByteArray messageOf(const Result<T>& result)
{
    return result.has_value() ? QByteArray() : QByteArray::fromStdString(result.error().message);
}

} // namespace waste::test

#define WASTE_VERIFY_OK(expression)                                                                                    \
    do {                                                                                                               \
        const auto& wasteResult = (expression);                                                                        \
        QVERIFY2(wasteResult.has_value(), waste::test::messageOf(wasteResult).constData());                            \
    } while (false)
