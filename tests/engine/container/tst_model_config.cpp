// What a configuration means and what is refused (spec: model 2.2 and 2.3, container 2.2). The damage table
// (tst_damage) covers the range of every key; here are meanings, defaults and both origins.

#include "container/error_reasons.h"
#include "container/manifest.h"
#include "container/model_config.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <fstream>

using namespace waste;
using Json = nlohmann::json;
using Origin = ModelConfig::Origin;

namespace {

Json readJson(const char* path)
{
    std::ifstream stream(path);
    return Json::parse(stream, nullptr, false);
}

Json linearJson()
{
    return readJson(WASTE_TEST_DATA "/kl-mini/config.json");
}

Json k3Json()
{
    return readJson(WASTE_K3_MINI_CHECKPOINT "/config.json");
}

} // namespace

class TestModelConfig : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void kimiLinearReadsAsPublished();
    void k3ReadsAsPublished();
    void aContainersConfigMeansTheSameAsTheCheckpoints();
    void nullMeansAbsent();
    void absentBooleansDependOnTheOrigin();
    void falseIsFalse();
    void zeroBetaIsNoBeta();
    void integersMayBeWrittenWithAPoint();
    void prefixesAreRecordedOrDerived();
    void idsOutsideTheVocabularyAreNotStated();
    void groupsCountOnlyWhenGroupingIsOn();
    void aModelWithoutExpertsNeedsNone();
    void aModelWithoutKdaNeedsNoKdaGeometry();
    void wrongTypesAreRefused_data();
    void wrongTypesAreRefused();
    void missingKeysAreRefused_data();
    void missingKeysAreRefused();
    void foreignFeaturesAreUnsupported_data();
    void foreignFeaturesAreUnsupported();
};

void TestModelConfig::kimiLinearReadsAsPublished()
{
    const auto config = ModelConfig::parse(linearJson(), Origin::Checkpoint, "config.json");
    QVERIFY2(config, config ? "" : config.error().message.c_str());
    QCOMPARE(config->name(), std::string_view("kimi-linear"));
    QCOMPARE(config->tensorPrefix, std::string());
    QCOMPARE(config->layerCount, 7U);
    QCOMPARE(config->hiddenSize, 144U);
    QCOMPARE(config->normEpsilon, 1e-5F);
    QCOMPARE(config->activation, ModelConfig::Activation::Silu);
    QCOMPARE(config->denseWidth, 456U);
    QCOMPARE(config->moeLayerCount(), 6U);
    QVERIFY(!config->isMoe(0) && config->isMoe(1));
    QCOMPARE(config->expertInputWidth(), 144U);
    QCOMPARE(config->sharedWidth(), 40U);
    QCOMPARE(config->routedScaling, 2.446F);
    QVERIFY(config->renormalizeWeights);
    QCOMPARE(config->kdaLayers, (std::vector<bool>{true, true, true, false, true, true, false}));
    QCOMPARE(config->mlaLayerCount(), 2U);
    QCOMPARE(config->kdaWidth(), 128U);
    QCOMPARE(config->latentRowWidth(), 80U);
    QCOMPARE(config->queryLoraRank, 0U);
    QCOMPARE(config->gateLowerBound, 0.0F);
    QCOMPARE(config->contextMax, 4096ULL);
    QCOMPARE(config->endOfTextId, 258);
    QCOMPARE(config->mediaPlaceholderId, -1);
}

void TestModelConfig::k3ReadsAsPublished()
{
    const auto config = ModelConfig::parse(k3Json(), Origin::Checkpoint, "config.json");
    QVERIFY2(config, config ? "" : config.error().message.c_str());
    QCOMPARE(config->name(), std::string_view("kimi-k3"));
    QCOMPARE(config->tensorPrefix, std::string("language_model."));
    QCOMPARE(config->activation, ModelConfig::Activation::Situ);
    QCOMPARE(config->situBeta, 4.0F);
    QCOMPARE(config->situLinearBeta, 25.0F);
    QCOMPARE(config->residualBlockSize, 3U);
    QCOMPARE(config->latentWidth, 128U);
    QVERIFY(config->latentNorm);
    QCOMPARE(config->sharedWidth(), 256U);
    QVERIFY(config->attentionOutputGate);
    QVERIFY(config->kdaFullRankGate);
    QCOMPARE(config->gateLowerBound, -5.0F);
    QCOMPARE(config->queryLoraRank, 128U);
    QCOMPARE(config->endOfTextId, 2818);
    QCOMPARE(config->mediaPlaceholderId, 2837);
}

void TestModelConfig::aContainersConfigMeansTheSameAsTheCheckpoints()
{
    for (const Json& published : {linearJson(), k3Json()}) {
        const Json converted = composeConfig(published);
        QVERIFY(!converted.contains("text_config"));
        const auto before = ModelConfig::parse(published, Origin::Checkpoint, "config.json");
        const auto after = ModelConfig::parse(converted, Origin::Container, "manifest.json", &before->tensorPrefix);
        QVERIFY(before && after);
        QCOMPARE(after->architecture, before->architecture);
        QCOMPARE(after->renormalizeWeights, before->renormalizeWeights);
        QCOMPARE(after->latentNorm, before->latentNorm);
        QCOMPARE(after->attentionOutputGate, before->attentionOutputGate);
        QCOMPARE(after->kdaFullRankGate, before->kdaFullRankGate);
        QCOMPARE(after->mediaPlaceholderId, before->mediaPlaceholderId);
        QCOMPARE(after->kdaLayers, before->kdaLayers);
    }
}

void TestModelConfig::nullMeansAbsent()
{
    Json json = k3Json();
    for (const char* key : {"q_lora_rank", "routed_expert_hidden_size", "attn_res_block_size", "hidden_act",
             "activation_situ_beta", "moe_renormalize", "num_key_value_heads"})
        json["text_config"][key] = nullptr;
    json["text_config"]["linear_attn_config"]["gate_lower_bound"] = nullptr;
    const auto config = ModelConfig::parse(json, Origin::Checkpoint, "config.json");
    QVERIFY2(config, config ? "" : config.error().message.c_str());
    QCOMPARE(config->queryLoraRank, 0U);
    QCOMPARE(config->expertInputWidth(), config->hiddenSize);
    QCOMPARE(config->residualBlockSize, 0U);
    QCOMPARE(config->activation, ModelConfig::Activation::Silu);
    QCOMPARE(config->situBeta, 1.0F);
    QVERIFY(config->renormalizeWeights);
    QCOMPARE(config->gateLowerBound, 0.0F);
}

void TestModelConfig::absentBooleansDependOnTheOrigin()
{
    Json json = linearJson();
    json.erase("moe_renormalize");
    QVERIFY(ModelConfig::parse(json, Origin::Checkpoint, "config.json")->renormalizeWeights);
    QVERIFY(!ModelConfig::parse(json, Origin::Container, "manifest.json")->renormalizeWeights);
    // A writer therefore states it, and drops it where it is false.
    QCOMPARE(composeConfig(json)["moe_renormalize"].get<bool>(), true);
    json["moe_renormalize"] = false;
    QVERIFY(!composeConfig(json).contains("moe_renormalize"));
}

void TestModelConfig::falseIsFalse()
{
    Json json = k3Json();
    Json& text = json["text_config"];
    text["moe_renormalize"] = false;
    text["latent_moe_use_norm"] = false;
    text["mla_use_output_gate"] = false;
    text["linear_attn_config"]["use_full_rank_gate"] = false;
    const auto config = ModelConfig::parse(json, Origin::Checkpoint, "config.json");
    QVERIFY(config);
    QVERIFY(!config->renormalizeWeights);
    QVERIFY(!config->latentNorm);
    QVERIFY(!config->attentionOutputGate);
    QVERIFY(!config->kdaFullRankGate);
    const Json converted = composeConfig(json);
    QVERIFY(!converted.contains("latent_moe_use_norm"));
    QVERIFY(!converted.contains("mla_use_output_gate"));
    QVERIFY(!converted["linear_attn_config"].contains("use_full_rank_gate"));
}

void TestModelConfig::zeroBetaIsNoBeta()
{
    Json json = k3Json();
    json["text_config"]["activation_situ_beta"] = 0;
    json["text_config"]["activation_situ_linear_beta"] = 0;
    const auto config = ModelConfig::parse(json, Origin::Checkpoint, "config.json");
    QVERIFY(config);
    QCOMPARE(config->situBeta, 1.0F);
    QCOMPARE(config->situLinearBeta, 0.0F);
}

void TestModelConfig::integersMayBeWrittenWithAPoint()
{
    Json json = linearJson();
    json["hidden_size"] = 144.0;
    QVERIFY(ModelConfig::parse(json, Origin::Container, "manifest.json"));
    json["hidden_size"] = 144.5;
    QVERIFY(!ModelConfig::parse(json, Origin::Container, "manifest.json"));
}

void TestModelConfig::prefixesAreRecordedOrDerived()
{
    const std::string recorded = "x.";
    QCOMPARE(ModelConfig::parse(k3Json(), Origin::Container, "m", &recorded)->tensorPrefix, recorded);
    // A wrapper that a foreign converter left in place.
    QCOMPARE(ModelConfig::parse(k3Json(), Origin::Container, "m")->tensorPrefix, std::string("language_model."));
    QCOMPARE(ModelConfig::parse(composeConfig(k3Json()), Origin::Container, "m")->tensorPrefix, std::string());
}

void TestModelConfig::idsOutsideTheVocabularyAreNotStated()
{
    Json json = linearJson();
    for (const Json& id : {Json(512), Json(0), Json(-1), Json("2"), Json::array({1, 2})}) {
        json["eos_token_id"] = id;
        const auto config = ModelConfig::parse(json, Origin::Checkpoint, "config.json");
        QVERIFY(config);
        QCOMPARE(config->endOfTextId, -1);
    }
}

void TestModelConfig::groupsCountOnlyWhenGroupingIsOn()
{
    Json json = linearJson();
    json["num_expert_group"] = 4;
    json["topk_group"] = 2;
    const auto grouped = ModelConfig::parse(json, Origin::Checkpoint, "config.json");
    QCOMPARE(grouped->expertGroupCount, 4U);
    QCOMPARE(grouped->expertGroupsKept, 2U);
    json["use_grouped_topk"] = false;
    QCOMPARE(ModelConfig::parse(json, Origin::Checkpoint, "config.json")->expertGroupCount, 1U);
}

void TestModelConfig::aModelWithoutExpertsNeedsNone()
{
    Json json = linearJson();
    json["num_experts"] = nullptr;
    for (const char* key : {"num_experts_per_token", "moe_intermediate_size", "num_shared_experts"})
        json.erase(key);
    const auto config = ModelConfig::parse(json, Origin::Checkpoint, "config.json");
    QVERIFY2(config, config ? "" : config.error().message.c_str());
    QCOMPARE(config->moeLayerCount(), 0U);
    QVERIFY(!config->isMoe(6));
}

void TestModelConfig::aModelWithoutKdaNeedsNoKdaGeometry()
{
    Json json = linearJson();
    json.erase("linear_attn_config");
    QVERIFY(!ModelConfig::parse(json, Origin::Checkpoint, "config.json")); // required in a checkpoint
    const auto config = ModelConfig::parse(json, Origin::Container, "manifest.json");
    QVERIFY2(config, config ? "" : config.error().message.c_str());
    QCOMPARE(config->mlaLayerCount(), 7U);
}

void TestModelConfig::wrongTypesAreRefused_data()
{
    QTest::addColumn<QByteArray>("pointer");
    QTest::addColumn<QByteArray>("value");
    const auto row = [](const char* pointer, const char* value) {
        QTest::addRow("%s = %s", pointer, value) << QByteArray(pointer) << QByteArray(value);
    };
    row("/hidden_size", "\"144\"");
    row("/hidden_size", "true");
    row("/hidden_size", "[144]");
    row("/hidden_size", "1e300");
    row("/rms_norm_eps", "\"1e-5\"");
    row("/rms_norm_eps", "1e-60"); // zero in f32
    row("/routed_scaling_factor", "1e300"); // infinite in f32
    row("/moe_renormalize", "1");
    row("/moe_renormalize", "\"false\"");
    row("/linear_attn_config", "[]");
    row("/linear_attn_config/kda_layers", "3");
    row("/linear_attn_config/kda_layers", "[1.5]");
    row("/linear_attn_config/kda_layers", "[[1]]");
    row("/linear_attn_config/full_attn_layers", "\"4,7\"");
    row("/text_config", "7");
    row("/_outer", "[]");
}

void TestModelConfig::wrongTypesAreRefused()
{
    QFETCH(QByteArray, pointer);
    QFETCH(QByteArray, value);
    Json json = linearJson();
    json[Json::json_pointer(pointer.toStdString())] = Json::parse(value.toStdString());
    for (const Origin origin : {Origin::Checkpoint, Origin::Container}) {
        const auto config = ModelConfig::parse(json, origin, "config.json");
        QVERIFY(!config);
        QCOMPARE(config.error().code, ErrorCode::Corrupt);
        QCOMPARE(config.error().reason, std::string(reason::kConfig));
        const std::string key = pointer.mid(pointer.lastIndexOf('/') + 1).toStdString();
        QVERIFY2(config.error().message.find(key) != std::string::npos, config.error().message.c_str());
        QVERIFY(config.error().message.find("config.json: config out of range") == 0);
    }
}

void TestModelConfig::missingKeysAreRefused_data()
{
    QTest::addColumn<QString>("key");
    for (const char* key : {"num_hidden_layers", "hidden_size", "vocab_size", "rms_norm_eps", "intermediate_size",
             "num_experts_per_token", "moe_intermediate_size", "num_shared_experts", "num_attention_heads",
             "kv_lora_rank", "qk_nope_head_dim", "v_head_dim"})
        QTest::newRow(key) << QString(key);
}

void TestModelConfig::missingKeysAreRefused()
{
    QFETCH(QString, key);
    Json json = linearJson();
    json.erase(key.toStdString());
    for (const Origin origin : {Origin::Checkpoint, Origin::Container}) {
        const auto config = ModelConfig::parse(json, origin, "config.json");
        QVERIFY(!config);
        QVERIFY2(config.error().message.find(key.toStdString() + " is missing") != std::string::npos,
            config.error().message.c_str());
    }
}

void TestModelConfig::foreignFeaturesAreUnsupported_data()
{
    QTest::addColumn<QString>("key");
    QTest::addColumn<QByteArray>("value");
    QTest::newRow("expert layers apart") << "moe_layer_freq" << QByteArray("2");
    QTest::newRow("tied embeddings") << "tie_word_embeddings" << QByteArray("true");
    QTest::newRow("rotary positions") << "mla_use_nope" << QByteArray("false");
    QTest::newRow("rotary positions by default") << "mla_use_nope" << QByteArray("null");
    QTest::newRow("softmax router") << "moe_router_activation_func" << QByteArray("\"softmax\"");
    QTest::newRow("grouped queries") << "num_key_value_heads" << QByteArray("1");
    QTest::newRow("prediction layers") << "num_nextn_predict_layers" << QByteArray("1");
    QTest::newRow("activation") << "hidden_act" << QByteArray("\"gelu\"");
    QTest::newRow("architecture") << "architectures" << QByteArray("[\"DeepseekV3ForCausalLM\"]");
}

void TestModelConfig::foreignFeaturesAreUnsupported()
{
    QFETCH(QString, key);
    QFETCH(QByteArray, value);
    Json json = linearJson();
    json[key.toStdString()] = Json::parse(value.toStdString());
    for (const Origin origin : {Origin::Checkpoint, Origin::Container}) {
        const auto config = ModelConfig::parse(json, origin, "config.json");
        QVERIFY(!config);
        QCOMPARE(config.error().code, ErrorCode::Unsupported);
        QVERIFY2(
            config.error().message.find(key == "architectures" ? "DeepseekV3" : key.toStdString()) != std::string::npos,
            config.error().message.c_str());
    }
}

QTEST_APPLESS_MAIN(TestModelConfig)
#include "tst_model_config.moc"
